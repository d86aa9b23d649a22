"""Every test that a page of docs/ names is there: a claim without its proof fails here."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
PAGES = {
    "field-cases.md": TESTS,
    "operator-scenarios.md": TESTS / "operator",
    "provider-defects.md": TESTS,
    "engine-failures.md": TESTS,
    "benchmarks.md": TESTS,
    "supervisor.md": TESTS,
}
"""The page, and where its paths begin."""
CASES = {"A": (1, 3, 5, 6, 9, 11, 13), "B": (1, 2, 3, 7, 8, 10, 11), "C": (1, 2, 4, 6, 7, 10, 13)} | {
    "D": (1, 2, 5, 7, 8, 10, 11),
    "E": (1, 3, 4, 6, 7, 9, 10),
}
"""Ids of the field cases, by their class."""
_NAMED = re.compile(r"`(…|(?:\.\./)*(?:\w+/)+test_\w+\.py)(?:::(test_\w+)(…?))?`")


@cache
def _names(path: Path) -> tuple[str, ...]:
    return tuple(re.findall(r"def (test_\w+)", path.read_text()))


def _missing(page: Path, base: Path) -> Iterator[str]:
    """What the page names and nobody finds; `…` stands for the path before it in the row, or for the end of a name."""
    for line in page.read_text().splitlines():
        last: Path | None = None
        for path, name, cut in _NAMED.findall(line):
            last = last if path == "…" else (base / path.removeprefix("tests/")).resolve()
            if last is None or not last.exists():
                yield f"{path}, in: {line[:60]}"
            elif name and not any(one == name or (cut and one.startswith(name)) for one in _names(last)):
                yield f"{last.relative_to(TESTS)}::{name}"


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_is_there(page: str) -> None:
    text = (DOCS / page).read_text()
    assert _NAMED.search(text), f"{page} names no test: is it read rightly?"
    assert not list(_missing(DOCS / page, PAGES[page]))


def test_every_field_case_has_a_row_with_tests_and_a_result() -> None:
    rows = re.findall(r"^\| ([A-E]\d+) .+? \| .+? \| (.+?) \| (.+) \|$", (DOCS / "field-cases.md").read_text(), re.M)
    assert [name for name, _, _ in rows] == [f"{letter}{n:02}" for letter, numbers in CASES.items() for n in numbers]
    for name, result, tests in rows:
        assert re.match("held|partly|no|not yet", result), f"{name}: {result}"
        assert _NAMED.search(tests), f"{name} has no test"


def test_every_scenario_of_the_operator_has_a_test() -> None:
    rows = [line for line in (DOCS / "operator-scenarios.md").read_text().splitlines() if line.startswith("| ")]
    without = [row for row in rows if "tests |" not in row and not re.search(r"test_\w+", row)]
    assert not without


def test_a_name_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    """Of the check itself."""
    page = tmp_path / "page.md"
    own = "api/test_documents.py"
    page.write_text(f"`{own}`, `…::test_every_test_that…`, `…::test_gone`\n`api/test_gone.py`\n`…::test_x`\n")
    assert list(_missing(page, TESTS)) == [
        f"{own}::test_gone",
        "api/test_gone.py, in: `api/test_gone.py`",
        "…, in: `…::test_x`",
    ]
