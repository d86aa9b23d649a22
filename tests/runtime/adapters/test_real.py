"""Adapters of a real engine that serves: replaced under their names while streams run, and taken away."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from arriero_api.contract import AdapterState, NameKind, Phase, Registration, Registrations
from tests.models import tiny
from tests.models.lora import adapter
from tests.support.real_runtime import NAME, START_SECONDS, RealRuntime
from tests.support.runtime_process import until
from tests.support.streams import Streams

pytestmark = pytest.mark.full

MAX_LOADED = 2
STREAMS = 4
TOKENS = 600
PROMPT = "Once upon a time"
ENGINE = (
    *("--enable-lora", "--max-lora-rank=8", "--max-loras=2", f"--max-cpu-loras={MAX_LOADED}"),
    *("--max-model-len=1024", "--dtype=float32"),
)


class Adapted(RealRuntime):
    """A runtime with room for two adapters, whose list is `listed`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, tiny(), engine=ENGINE)
        self.folder = folder
        self.client = httpx.Client(base_url=self.url, timeout=120)

    def made(self, seed: int) -> Path:
        """An adapter that nobody else has; another seed gives other weights."""
        return adapter(tiny(), self.folder / f"made-{seed}", seed=seed)

    def lists(self, **adapters: Path) -> Registrations:
        """These are asked for from now on."""
        entries = [Registration(name, NameKind.ADAPTER, f"file://{folder}") for name, folder in adapters.items()]
        wanted = Registrations((Registration(NAME, NameKind.MODEL), *entries))
        fresh = self.folder / "registrations.new"
        fresh.write_text(wanted.to_json())
        fresh.replace(self.folder / "registrations.json")
        return wanted

    def listed(self, **adapters: Path) -> None:
        """Returns when these are served, and no others."""
        wanted = self.lists(**adapters)

        def served() -> bool:
            status = self.status()
            return (
                status is not None
                and status.registrations == wanted.hash
                and all(one.state is AdapterState.REGISTERED for one in status.adapters)
            )

        until(served, f"adapters {', '.join(adapters)} are served", 60)

    def ask(self, model: str, tokens: int = 32) -> str:
        """The greedy answer."""
        body = {"model": model, "prompt": PROMPT, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
        answer = self.client.post("/v1/completions", json=body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["model"] == model
        return str(answer.json()["choices"][0]["text"])

    def code(self, model: str) -> int:
        """The status of a question."""
        return self.client.post("/v1/completions", json={"model": model, "prompt": PROMPT, "max_tokens": 1}).status_code

    def in_use(self) -> list[str]:
        """The series of adapters in use."""
        lines = self.client.get("/metrics").text.splitlines()
        return [line for line in lines if line.startswith("vllm:lora_requests_info{")]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adapted]:
    started = Adapted(tmp_path_factory.mktemp("adapted"))
    try:
        started.until_ready(START_SECONDS)
        yield started
    finally:
        started.client.close()
        started.clean()


def test_an_engine_that_dies_between_loaded_and_ready_is_told(tmp_path: Path) -> None:
    """Stopped first, so that it dies over what it was asked: vLLM would wait for that answer for ever."""
    runtime = Adapted(tmp_path)
    try:
        runtime.lists(support=runtime.made(1))
        until(lambda: (status := runtime.status()) and status.phase is Phase.WARMING, "Warming", START_SECONDS)
        core = runtime.titled("VLLM::EngineCore")
        os.kill(core, signal.SIGSTOP)
        status = runtime.status()
        assert status is not None
        assert status.phase is Phase.WARMING, "it was ready too soon: the test shows nothing"
        os.kill(core, signal.SIGKILL)
        assert runtime.ended(60) != 0
        failure = runtime.failure()
        assert failure is not None
        assert (failure.reason, failure.phase) == ("EngineDied", Phase.WARMING), failure
    finally:
        runtime.client.close()
        runtime.clean()


def text_of(stream: bytes) -> str:
    """What a stream of server-sent events has said."""
    events = [line.removeprefix("data: ") for line in stream.decode().splitlines() if line.startswith("data: {")]
    return "".join(choice["text"] for event in events for choice in json.loads(event)["choices"])


def test_streams_end_with_the_weights_that_they_began_with_while_new_requests_get_the_new_ones(
    runtime: Adapted,
) -> None:
    first, second = runtime.made(1), runtime.made(2)
    base = runtime.ask(NAME)
    runtime.listed(support=second)
    wanted = runtime.ask("support")
    runtime.listed(support=first)
    begun = runtime.ask("support", TOKENS)
    assert len({base, wanted, begun[: len(base)]}) == 3, "the adapters change nothing: the test shows nothing"
    body = {"model": "support", "prompt": PROMPT, "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
    body |= {"stream": True}
    with Streams(runtime.serve_port, "/v1/completions", body, STREAMS) as streams:
        streams.until_all_began(60)
        runtime.listed(support=second)
        assert runtime.ask("support") == wanted
        streams.read(0.1)
        assert streams.open == STREAMS, "the streams had ended before the weights were replaced"
        assert all('running_lora_adapters="support"' in line for line in runtime.in_use())
        assert len(runtime.in_use()) == 1
        # Not the model's own name meanwhile: beside adapters vLLM 0.32 answers that wrongly on the CPU.
        streams.read(240)
        assert (streams.open, streams.done) == (0, STREAMS)
        told = [text_of(bytes(received)) for received in streams.received]
    assert set(told) == {begun}
    assert runtime.ask("support") == wanted
    runtime.listed()
    assert runtime.code("support") == 404
    assert runtime.ask(NAME) == base


def test_an_adapter_outlives_its_folder_and_any_number_of_others_that_come_and_go(runtime: Adapted) -> None:
    kept = runtime.made(10)
    runtime.listed(kept=kept, changing=runtime.made(11))
    wanted = runtime.ask("kept")
    shutil.rmtree(kept)
    answers = set()
    for seed in range(12, 17):
        runtime.listed(kept=kept, changing=runtime.made(seed))
        answers.add(runtime.ask("changing"))
    assert len(answers) == 5
    assert runtime.ask("kept") == wanted
    runtime.listed(kept=kept)
    assert (runtime.code("changing"), runtime.ask("kept")) == (404, wanted)
    series = runtime.in_use()
    assert len(series) <= 1
    assert not any("@" in line for line in series)
    assert runtime.process.poll() is None
    assert "does not let go" not in runtime.text()
