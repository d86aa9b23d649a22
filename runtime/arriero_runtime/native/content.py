"""Interleaved content: text, images, and lists of both."""

import base64
import binascii
from typing import Any, Final

from arriero_runtime.native.errors import invalid
from arriero_runtime.native.wire import Content, Image, ImageItem, TextItem

_KINDS: Final = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp", b"BM": "bmp"}
"""First bytes → media type below image/."""
_SCHEMES: Final = ("https://", "http://", "data:image/")


def items(content: Content) -> list[TextItem | ImageItem]:
    """As a list."""
    if isinstance(content, str):
        return [TextItem(type="text", text=content)]
    return content if isinstance(content, list) else [content]


def text(content: Content, field: str, between: str) -> str:
    """Text alone, several items joined. Raises Refused for an image."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for item in items(content):
        if isinstance(item, ImageItem):
            raise invalid(field, "images are understood in user and tool messages of a chat only")
        texts.append(item.text)
    return between.join(texts)


def parts(content: Content, field: str) -> str | list[dict[str, Any]]:
    """In the form of the OpenAI API: a string, or a list of parts. Raises Refused for an image that cannot be read."""
    return content if isinstance(content, str) else [_part(item, field) for item in items(content)]


def _part(item: TextItem | ImageItem, field: str) -> dict[str, Any]:
    if isinstance(item, TextItem):
        return {"type": "text", "text": item.text}
    return {"type": "image_url", "image_url": {"url": _address(item.image, field)}}


def _address(image: Image, field: str) -> str:
    if image.url is not None:
        if not image.url.uri.startswith(_SCHEMES):
            raise invalid(field, "an image's uri must begin with https://, http:// or data:image/")
        return image.url.uri
    if not image.data:
        raise invalid(field, "an image needs a url or data")
    try:
        start = base64.b64decode(image.data[:64], validate=True)
    except binascii.Error as error:
        raise invalid(field, "an image's data must be base64") from error
    for mark, kind in _KINDS.items():
        if start.startswith(mark):
            return f"data:image/{kind};base64,{image.data}"
    raise invalid(field, f"an image's data must be one of {', '.join(_KINDS.values())}")
