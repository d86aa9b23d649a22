"""A program of its own, with the engine's packages: what grammars of forced calls accept. Fails where that is wrong."""

from typing import Any

import xgrammar

from arriero_runtime.native.formats.forced import constraint
from arriero_runtime.native.formats.reading import read

FUNCTION = {
    "name": "get-weather",
    "parameters": {
        "type": "object",
        "properties": {
            "place": {"type": "string"},
            "days": {"type": "integer"},
            "hours": {"type": "array"},
            "unit": {"type": "string", "enum": ["C", "F"]},
            "years": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["place"],
    },
}
BARE = {"name": "now", "parameters": {"type": "object", "properties": {}}}
SEARCH = {
    "name": "brave_search",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
NAMES = frozenset({"get-weather", "now", "brave_search"})
GOOD = {
    "python_list": [
        '[get-weather(place="Rome \\"x\\" é")]',
        '[get-weather(place="R", days=-2, hours=[1, 2.5, {"a": None}]), now()]',
        '[brave_search.call(query="x")]',
        '[get-weather(place="R", unit="F", years=[1999, 2000])]',
    ],
    "function_tag": [
        '<function=get-weather>{"place": "Rome", "hours": [1, true, null]}</function>',
        "<function=now>{}</function>",
        '<function=get-weather>{"place": "R", "unit": "C", "years": []}</function>',
        '<function=brave_search>{"query": "x"}</function>',
    ],
}
BAD = {
    "python_list": [
        "[]",
        "[get-weather()]",
        '[get-weather(place="R", days="2")]',
        "[rm()]",
        "words",
        "[now()] more",
        '[get-weather(place="R", unit="K")]',
        '[get-weather(place="R", years=["x"])]',
    ],
    "function_tag": ["<function=rm>{}</function>", '<function=get-weather>{"days": 1}</function>', "words", "{}"],
}


def accepts(grammar: Any, text: str) -> bool:
    vocabulary = xgrammar.TokenizerInfo(["a", "b"])
    compiled = xgrammar.GrammarCompiler(vocabulary).compile_grammar(grammar)
    matcher = xgrammar.GrammarMatcher(compiled, terminate_without_stop_token=True)
    return bool(matcher.accept_string(text)) and bool(matcher.is_terminated())


def main() -> None:
    for form, texts in GOOD.items():
        grammar = xgrammar.Grammar.from_ebnf(constraint([FUNCTION, BARE, SEARCH], form)["grammar"])
        for text in texts:
            assert accepts(grammar, text), (form, text)
            assert read(text, NAMES, tagged=False)[1], text
        for text in BAD[form]:
            assert not accepts(grammar, text), (form, text)


if __name__ == "__main__":
    main()
