"""What vLLM's parsers of reasoning make of one answer by two ways, so that nothing here trusts them to agree."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from arriero_runtime.parsers.table import REASONING
from tests import models
from tests.cluster.images import environment

PROGRAM = Path(__file__).with_name("inside_reasoning.py")
ELSEWHERE = frozenset({"cohere_command3", "mistral", "openai_gptoss"})
"""Made only for tokenizers that have tokens of theirs, or read by another part of vLLM."""
DISAGREE = frozenset({"gemma4", "olmo3"})
"""On reasoning without an end, or without a beginning."""


@pytest.mark.full
@pytest.mark.timeout(300)
def test_each_parser_of_the_table_says_the_same_both_ways_but_where_it_is_known_not_to() -> None:
    names = sorted({row.parser for row in REASONING})
    done = subprocess.run(
        [environment.PYTHON, "-W", "ignore", PROGRAM, models.tiny(), *names],
        env=environment.python_with(environment.runtime()),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert {name for name, texts in found.items() if isinstance(texts, str)} == ELSEWHERE
    different = {
        name
        for name, texts in found.items()
        if not isinstance(texts, str) and any(whole != streamed for whole, streamed in texts.values())
    }
    assert different == DISAGREE
