"""Who may do what in the admin."""

from typing import Any, ClassVar

from django.http import HttpRequest


class FewLookups:
    """A list's address may ask for named fields alone: `?webhook_secret__startswith=` would be an oracle (NFR-12)."""

    lookups: ClassVar[frozenset[str]] = frozenset()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup in self.lookups


class ReadOnly:
    """Rows to look at: nobody adds, edits or deletes them by hand. Actions ask for the right to change."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Whether the user may act on these rows: Django's right to change them."""
        opts = self.opts  # type: ignore[attr-defined]
        return bool(request.user.has_perm(f"{opts.app_label}.change_{opts.model_name}"))
