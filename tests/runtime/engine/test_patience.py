"""What vLLM's processes are asked ends, whatever becomes of them.

FAKE: vLLM's client, which answers nothing.
"""

import asyncio
import contextlib
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import EngineGone, EngineSilent
from arriero_runtime.engine.vllm import loader, patience, processes
from arriero_runtime.engine.vllm.engine import VllmEngine
from arriero_runtime.failing import StartError
from arriero_runtime.model import Model


async def no_answer() -> None:
    await asyncio.Event().wait()


async def refusal() -> None:
    raise ValueError("no")


async def answer() -> int:
    return 7


async def test_an_answer_comes_through_and_so_does_a_refusal() -> None:
    assert await patience.answered(answer(), lambda: False, 5) == 7
    with pytest.raises(ValueError, match="no"):
        await patience.answered(refusal(), lambda: False, 5)


async def test_an_engine_that_dies_or_hangs_over_a_question_is_told_from_one_that_refuses() -> None:
    for work in (no_answer, refusal):
        with pytest.raises(EngineGone):
            await asyncio.wait_for(patience.answered(work(), lambda: True, 60), 10)
    with pytest.raises(EngineSilent, match=r"within 0\.3 seconds"):
        await asyncio.wait_for(patience.answered(no_answer(), lambda: False, 0.3), 10)


@pytest.mark.parametrize(("dies", "reason"), [(True, "EngineDied"), (False, "EngineHung")])
async def test_an_engine_that_is_lost_as_soon_as_it_is_loaded_fails_the_load_and_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dies: bool, reason: str
) -> None:
    ended: list[str] = []
    client = SimpleNamespace(errored=False, shutdown=lambda seconds: ended.append("client"))

    async def attach(client: Any, args: object, steps: object) -> None:
        client.errored = dies
        await no_answer()

    async def checked(self: object, folder: Path, model: Model) -> SimpleNamespace:
        return SimpleNamespace(quantization=None)

    monkeypatch.setattr(loader, "_start", lambda args, steps: client)
    monkeypatch.setattr(loader, "_stay_offline", lambda: None)
    monkeypatch.setattr(loader, "_ATTACH_SECONDS", 10.0 if dies else 0.3)
    monkeypatch.setattr(loader.VllmLoader, "_arguments", checked)
    monkeypatch.setattr(VllmEngine, "attach", attach)
    monkeypatch.setattr(processes, "members", list)
    monkeypatch.setattr(processes, "adopt", lambda: None, raising=False)
    monkeypatch.setattr(processes, "end", lambda seconds, shared: ended.append("processes"))
    with pytest.raises(StartError) as caught:
        await asyncio.wait_for(loader.VllmLoader([]).load(tmp_path, ["one"], Model("file:///model")), 8)
    assert (caught.value.failure.reason, caught.value.failure.phase) == (reason, Phase.LOADING)
    assert ended == ["client", "processes"]


async def test_an_end_that_hangs_in_vllm_is_made_by_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """As vLLM's does for as long as a thread of its tokenizer has a long text in hand."""
    ended: list[float] = []
    monkeypatch.setattr(processes, "end", lambda seconds, shared: ended.append(seconds))
    monkeypatch.setattr(patience, "_MARGIN_SECONDS", 0.1)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(patience.end(SimpleNamespace(shutdown=lambda seconds: time.sleep(3)), 0.1), 2)
    assert ended == [0.1]
