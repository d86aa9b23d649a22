"""What vLLM remembers of an engine that has ended."""

import logging
import sys
from functools import lru_cache
from types import ModuleType

import pytest

from arriero_runtime.engine.vllm import remains


@lru_cache
def remembering(name: str) -> str:
    return name.upper()


def test_it_is_forgotten_wherever_vllm_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("some_module")
    vars(module)["remembering"] = remembering
    monkeypatch.setitem(sys.modules, "some_module", module)
    monkeypatch.setattr(remains, "_REMEMBERING", {"some_module": ("remembering",)})
    remembering("x")
    remains.forget()
    assert remembering.cache_info().currsize == 0


@pytest.mark.parametrize(("module", "function"), [("no_such_module", "x"), ("sys", "exit")])
def test_what_is_remembered_in_another_way_is_told_and_stops_nothing(
    module: str, function: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(remains, "_REMEMBERING", {module: (function,)})
    with caplog.at_level(logging.WARNING):
        remains.forget()
    assert remains.KEEPS in caplog.text
