"""From what was sent to typed values: bodies, queries and headers. Whatever is not plainly right is a `Problem`."""

import re
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from scrapejobs.gateway import strict_json
from scrapejobs.gateway.problems import Mistake, Problem, invalid

T = TypeVar("T")

MAX_BODY_BYTES: Final = 256 * 1024
MAX_QUERY_FIELDS: Final = 64

_AT: Final = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL)
_FIELD: Final = re.compile(r"`(?P<name>[^`]*)`")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[([^\]]*)\]")
_INTEGER: Final = re.compile(r"(?:0|[1-9][0-9]{0,8})")
KEY_CHARACTERS: Final = r"[!#-+\--\[\]-~]"
IDEMPOTENCY_KEY: Final = rf'"([!#-\[\]-~]{{1,255}})"|({KEY_CHARACTERS}{{1,255}})'
_KEY: Final = re.compile(IDEMPOTENCY_KEY)
_CHARSETS: Final = frozenset({"utf-8", "utf8"})


class StrictJsonParser(BaseParser):
    """The one reader of bodies. The size is judged by Content-Length, before a byte is read."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:  # noqa: ARG002
        request: Request = parser_context["request"]
        _check_charset(request.content_type)
        return strict_json.parse(stream.read(MAX_BODY_BYTES))


def check_body(request: Request, *, most: int = MAX_BODY_BYTES) -> None:
    """Refuses a body by its headers alone: encoded, of unknown length, or too large. Raises `Problem`."""
    meta = request.META
    if meta.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() not in {"", "identity"}:
        raise Problem("unsupported-media-type", "a body with a Content-Encoding is not taken")
    if meta.get("HTTP_TRANSFER_ENCODING") and not meta.get("CONTENT_LENGTH"):
        raise Problem("length-required")
    length = meta.get("CONTENT_LENGTH") or "0"
    if not length.isascii() or not length.isdigit():
        raise Problem("bad-request", "the Content-Length is not a number")
    if len(length) > len(str(most)) or int(length) > most:
        raise Problem("payload-too-large", f"no more than {most} bytes")


def media_type_of(request: Request) -> str:
    """The media type of the body, without parameters."""
    return str(request.content_type).partition(";")[0].strip().lower()


def text_of(request: Request, *, media_type: str | None = None) -> bytes:
    """The body as it came. Raises `Problem` for another charset than UTF-8, another media type than is asked for, or
    no body.
    """
    if media_type is not None and media_type_of(request) != media_type:
        raise Problem("unsupported-media-type")
    _check_charset(request.content_type)
    text: bytes = request.stream.read() if request.stream else b""
    if not text:
        raise Problem("invalid-json", "the body is empty")
    return text


def body_as(request: Request, shape: type[T]) -> T:
    """The body in a shape. Raises `Problem` naming the first mistake."""
    if request.META.get("CONTENT_LENGTH") in {None, "", "0"}:
        raise Problem("invalid-json", "the body is empty")
    try:
        raw = request.data
    except UnsupportedMediaType:
        raise Problem("unsupported-media-type") from None
    return shaped(raw, shape)


def shaped(raw: Any, shape: type[T], *, prefix: str = "") -> T:
    """A parsed value in a shape. Raises `Problem`, its pointers beginning with `prefix`."""
    try:
        return msgspec.convert(raw, shape)
    except msgspec.ValidationError as error:
        mistake = _mistake(str(error), prefix=prefix)
        raise Problem("invalid-request", mistake.detail, [mistake]) from None


def query_as(request: Request, shape: type[T], *, maps: tuple[str, ...] = ()) -> T:
    """The query in a shape: each name known and given once. A name of `maps` gathers `name.key` parameters."""
    raw: dict[str, Any] = {}
    for name, value in _query_pairs(request):
        place, key = raw, name
        head, dot, tail = name.partition(".")
        if dot and head in maps:
            place, key = raw.setdefault(head, {}), tail
        elif name in maps:
            raise invalid(f"?{name}", "unknown_field", f"`{name}` is not a parameter; `{name}.<key>` is")
        if key in place:
            raise invalid(f"?{name}", "repeated", f"`{name}` is given twice")
        place[key] = int(value) if _INTEGER.fullmatch(value) and name in _integers(shape) else value
    return shaped(raw, shape, prefix="?")


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key, its quotes taken off. Raises `Problem`; two header lines arrive joined by a comma."""
    value = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if value is None:
        return None
    found = _KEY.fullmatch(value)
    if found is None:
        raise Problem("invalid-idempotency-key", "1 to 255 visible ASCII characters, bare or in quotes, once")
    return found[1] or found[2]


def _check_charset(content_type: str) -> None:
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.strip().partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in _CHARSETS:
            raise Problem("unsupported-media-type", "the charset has to be utf-8")


def _query_pairs(request: Request) -> list[tuple[str, str]]:
    text = request.META.get("QUERY_STRING", "")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
    except ValueError:
        raise invalid("?", "value", "the query is not UTF-8, or has too many parameters") from None
    for name, value in pairs:
        if "\0" in name or "\0" in value:
            raise invalid("?", "value", "the query holds a NUL character")
    return pairs


def _integers(shape: type) -> frozenset[str]:
    """The fields that hold a whole number: in a query they come as digits."""
    fields = msgspec.structs.fields(shape)
    return frozenset(field.name for field in fields if _is_integer(field.type))


def _is_integer(type_: Any) -> bool:
    return isinstance(msgspec.inspect.type_info(type_), msgspec.inspect.IntType)


def _mistake(message: str, *, prefix: str) -> Mistake:
    """A message of msgspec, e.g. "Expected `str`, got `int` - at `$.params.timeout_s`", with its path as a pointer."""
    found = _AT.fullmatch(message)
    what, path = (found["what"], found["path"] or "") if found else (message, "")
    steps = [name or index for name, index in _STEP.findall(path)]
    code = "value"
    if "unknown field" in what or "missing required field" in what:
        code = "unknown_field" if "unknown" in what else "required"
        field = _FIELD.search(what)
        steps.append(field["name"] if field else "")
    elif " got `" in what:
        code = "type"
    pointer = prefix + "/".join(steps) if prefix else "".join(f"/{step}" for step in steps)
    return Mistake(pointer, code, what)
