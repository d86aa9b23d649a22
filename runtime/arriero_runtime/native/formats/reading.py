"""Tool calls in the text of an answer, in whichever of the formats the model chose.

A text is either calls from its beginning to its end, where `<function=` may follow other words, or it holds none.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from arriero_runtime.native.formats.written import BUILT_IN, CODE

Found = tuple[str, dict[str, Any]]
"""Name and arguments of a call."""
MARK: Final = "<function="
_TAG: Final = re.compile(r"<function=([^<>{}\s]+)>\s*")
_CLOSE: Final = re.compile(r"\s*(?:</function>)?\s*[;,]?\s*")
_BETWEEN: Final = re.compile(r"[\s;,]*")
_WORDS: Final = {"true": True, "false": False, "null": None}


class _NoCall(ValueError):
    """The text is none."""


def _refuse(constant: str) -> None:
    raise _NoCall(constant)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def read(text: str, offered: frozenset[str], *, tagged: bool) -> tuple[str, list[Found]]:
    """What stands before the calls, and the calls; (text, []) where there is none of a tool that is offered.

    `tagged` says that the model marked the answer as code or as a call of a built-in tool.
    """
    before, mark, _ = text.partition(MARK)
    if not mark or text.lstrip().startswith(("{", "[")):
        before = ""
    try:
        found = _calls(text[len(before) :].strip(), offered)
    except (_NoCall, ValueError, SyntaxError, RecursionError, MemoryError):
        found = []
    if any(name in offered for name, _ in found):
        return before, found
    if tagged and CODE in offered:
        return "", [(CODE, {"code": text})]
    return text, []


def _calls(text: str, offered: frozenset[str]) -> list[Found]:
    if text.startswith(MARK):
        return list(_in_tags(text))
    if text.startswith("{"):
        return [_of_object(value) for value in _objects(text)]
    if text.startswith("["):
        try:
            listed = _DECODER.decode(text)
        except ValueError:
            return _python(text, offered)
        return [_of_object(value) for value in listed]
    if text.startswith(tuple(f"{name}.call(" for name in BUILT_IN)):
        return _python(f"[{text}]", offered)
    raise _NoCall


def _in_tags(text: str) -> Iterator[Found]:
    at = 0
    while at < len(text):
        head = _TAG.match(text, at)
        if head is None:
            raise _NoCall
        value, at = _DECODER.raw_decode(text, head.end())
        yield head[1], _checked(value)
        close = _CLOSE.match(text, at)
        at = close.end() if close else at


def _objects(text: str) -> Iterator[Any]:
    at = 0
    while at < len(text):
        value, at = _DECODER.raw_decode(text, at)
        yield value
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at


def _of_object(value: Any) -> Found:
    if not isinstance(value, dict):
        raise _NoCall
    inner = value.get("function")
    found: dict[str, Any] = inner if isinstance(inner, dict) else value
    name = found.get("name")
    arguments = found.get("parameters", found.get("arguments", {}))
    if not isinstance(name, str) or not ({"parameters", "arguments"} & set(found) or value.get("type") == "function"):
        raise _NoCall
    return name, _checked(_DECODER.decode(arguments) if isinstance(arguments, str) else arguments or {})


def _checked(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _NoCall
    return value


def _python(text: str, offered: Iterable[str]) -> list[Found]:
    """A list of calls in Python's syntax. Names that are none in Python go by others meanwhile."""
    others = {f"arriero_tool_{number}": name for number, name in enumerate(sorted(offered)) if not name.isidentifier()}
    for other, name in others.items():
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?=\()", other, text)
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.List) or not tree.elts:
        raise _NoCall
    return [_python_call(node, others) for node in tree.elts]


def _python_call(node: ast.expr, others: dict[str, str]) -> Found:
    if not isinstance(node, ast.Call) or node.args:
        raise _NoCall
    head = node.func
    if isinstance(head, ast.Attribute) and head.attr == "call" and isinstance(head.value, ast.Name):
        if head.value.id not in BUILT_IN:
            raise _NoCall
        head = head.value
    name = ast.unparse(head)
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise _NoCall
        arguments[keyword.arg] = _value(keyword.value, others)
    return others.get(name, name), arguments


def _value(node: ast.expr, others: dict[str, str]) -> Any:
    """A literal, of Python or of JSON. Raises _NoCall for anything else."""
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(one, others) for one in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_value(key, others)): _value(one, others) for key, one in pairs if key is not None}
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    value = ast.literal_eval(node)
    if isinstance(value, str):
        for other, name in others.items():
            value = value.replace(other, name)
        return value
    if value is not None and not isinstance(value, int | float):
        raise _NoCall
    return value
