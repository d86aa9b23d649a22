"""What the person who watches sees: headings, commands and what came of them."""

import os
import sys
import textwrap

_WIDTH = 100
_INDENT = "    "


def heading(text: str) -> None:
    """Begin an act."""
    print(f"\n{_style(text, '1')}\n{_style('─' * len(text), '2')}", flush=True)


def tell(text: str) -> None:
    """A sentence about what comes next."""
    for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False):
        print(line, flush=True)


def command(text: str) -> None:
    """A command as a person would type it."""
    print(f"\n  {_style('$', '2')} {_style(text, '36')}", flush=True)


def result(text: str) -> None:
    """What a command printed, or what was seen."""
    for line in text.rstrip().splitlines():
        print(f"{_INDENT}{line}".rstrip(), flush=True)


def quote(label: str, text: str) -> None:
    """A labelled text that may be long, for example an answer."""
    margin = " " * 12
    lines = textwrap.wrap(" ".join(text.split()), _WIDTH - len(margin)) or [""]
    print(f"{_INDENT}{label:<8}{lines[0]}", flush=True)
    for line in lines[1:]:
        print(f"{margin}{line}", flush=True)


def good(text: str) -> None:
    """A promise that was kept."""
    print(f"  {_style('✓', '32')} {text}", flush=True)


def bad(text: str) -> None:
    """A promise that was not kept, on standard error."""
    print(f"\n{_style('✗', '31', sys.stderr.isatty())} {text}", file=sys.stderr, flush=True)


def _style(text: str, code: str, terminal: bool | None = None) -> str:
    shown = sys.stdout.isatty() if terminal is None else terminal
    return f"\033[{code}m{text}\033[0m" if shown and "NO_COLOR" not in os.environ else text
