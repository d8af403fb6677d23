"""Always JSON: the Accept header is not looked at, the Content-Type decides alone."""

from collections.abc import Iterable
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class AlwaysJson(BaseContentNegotiation):
    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """The parser of the media type, None for any other or none."""
        media_type = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002 - DRF's form
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002 - as above
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type or ""


class NoRenderer(BaseRenderer):
    """Views answer with bytes; DRF asks for a renderer all the same."""

    media_type = "application/json"
    format = "json"

    def render(self, data: Any, accepted_media_type: Any = None, renderer_context: Any = None) -> Any:  # noqa: ARG002
        return data
