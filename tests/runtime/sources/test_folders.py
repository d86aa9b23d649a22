"""Folders in place, the choice of files, the words about progress."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arriero_api import uris
from arriero_runtime.failing import StartError
from arriero_runtime.sources import files, folders, obtain
from arriero_runtime.sources.meter import Meter
from tests.runtime.server.harness import model_folder


def test_safetensors_are_taken_and_other_copies_of_the_weights_left() -> None:
    repository = [
        "config.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "model.safetensors.index.json",
        "consolidated.safetensors",
        "pytorch_model.bin",
        "tf_model.h5",
        "model.gguf",
        "onnx/model.onnx",
        "original/params.json",
        "1_Pooling/config.json",
        "tokenizer.model",
        "chat_template.jinja",
        ".gitattributes",
    ]
    assert files.needed(repository) == [
        "1_Pooling/config.json",
        "chat_template.jinja",
        "config.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "model.safetensors.index.json",
        "tokenizer.model",
    ]


def test_older_weights_are_taken_where_there_is_nothing_else() -> None:
    found = files.needed(["config.json", "pytorch_model.bin", "training_args.bin", "optimizer.pt"])
    assert found == ["config.json", "pytorch_model.bin"]


def test_a_single_consolidated_file_is_taken_where_it_is_the_only_one() -> None:
    assert files.needed(["params.json", "consolidated.safetensors"]) == ["consolidated.safetensors", "params.json"]


@given(st.lists(st.sampled_from(["config.json", "params.json", "model.safetensors", "pytorch_model.bin", "a.txt"])))
def test_what_is_fetched_of_a_complete_repository_is_complete(paths: list[str]) -> None:
    assert files.lacks(files.needed(paths)) == files.lacks(paths)


def test_a_folder_of_a_claim_is_used_in_place(tmp_path: Path) -> None:
    model_folder(tmp_path)
    assert folders.find(uris.parse("pvc://claim/model"), tmp_path) == tmp_path / "model"


@pytest.mark.parametrize("uri", ["pvc://claim/none", "file:///none", "hf://not/a/name", "nonsense"])
async def test_where_nothing_can_be_hidden_no_private_repository_is_talked_of(uri: str, tmp_path: Path) -> None:
    with pytest.raises(StartError) as caught:
        await obtain.resolve(obtain.Wanted(uri, "", "", tmp_path), tmp_path)
    assert (caught.value.failure.reason, caught.value.failure.remedy) == ("ModelNotFound", "Correct spec.model.uri.")


@pytest.mark.parametrize(("uri", "reason"), [("pvc://claim/none", "ModelNotFound"), ("pvc://claim", "ModelIncomplete")])
def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path, uri: str, reason: str) -> None:
    with pytest.raises(StartError) as caught:
        folders.find(uris.parse(uri), tmp_path)
    assert caught.value.failure.reason == reason
    assert "claim" in caught.value.failure.message


async def test_a_revision_of_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"spec\.model\.revision"):
        await obtain.resolve(obtain.Wanted(f"file://{model_folder(tmp_path)}", "v1", "", tmp_path))


def test_the_meter_never_goes_back_and_tells_the_rate_of_the_last_seconds() -> None:
    mib = 1024 * 1024
    now = [0.0]
    told: list[tuple[int, str]] = []
    meter = Meter(257 * mib, lambda percent, words: told.append((percent, words)), lambda: now[0])
    for second, done in enumerate([0, 50, 110, 100, 257]):
        now[0] = second
        meter.look(done * mib)
    assert told == [
        (0, "0 of 257 MiB"),
        (19, "50 of 257 MiB, 50 MiB/s"),
        (42, "110 of 257 MiB, 55 MiB/s"),
        (42, "110 of 257 MiB, 37 MiB/s"),
        (100, "257 of 257 MiB, 64 MiB/s"),
    ]


def test_weights_of_a_kind_that_the_engine_does_not_read_are_no_weights() -> None:
    assert files.lacks(["config.json", "model.pth"]) == "weights (*.safetensors)"
    assert files.lacks(["config.json", "pytorch_model.bin"]) == ""
