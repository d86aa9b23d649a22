"""Embeddings on the wire."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.native.played import EMBEDDER, Answer, Native, native

VECTORS = {"data": [{"index": 1, "embedding": [3.0]}, {"index": 0, "embedding": [1.0]}], "usage": {}}


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Native]:
    async with native(tmp_path, paths=EMBEDDER) as found:
        found.script.always(Answer(VECTORS))
        yield found


async def test_each_content_has_its_vector_in_order(stack: Native) -> None:
    status, body = await stack.post("embeddings", {"contents": ["a", "b"]})
    assert (status, body) == (200, {"embeddings": [[1.0], [3.0]]})
    assert stack.script.last == {"model": "one", "input": ["a", "b"], "encoding_format": "float"}


async def test_text_items_are_texts_and_images_are_400(stack: Native) -> None:
    await stack.post("embeddings", {"contents": [{"type": "text", "text": "a"}]})
    assert stack.script.last["input"] == ["a"]
    image = {"type": "image", "image": {"url": {"uri": "https://example.com/a.png"}}}
    status, body = await stack.post("embeddings", {"contents": [image]})
    assert status == 400
    assert "contents[0]" in body["detail"]


@pytest.mark.parametrize(("word", "side"), [("start", "left"), ("end", "right"), ("none", None)])
async def test_text_is_cut_only_when_the_caller_says_where(stack: Native, word: str, side: str | None) -> None:
    await stack.post("embeddings", {"contents": ["a"], "text_truncation": word})
    assert stack.script.last.get("truncation_side") == side
    assert stack.script.last.get("truncate_prompt_tokens") == (-1 if side else None)


async def test_a_dimension_is_asked_for_only_when_it_is_given(stack: Native) -> None:
    await stack.post("embeddings", {"contents": ["a"], "output_dimension": 32})
    assert stack.script.last["dimensions"] == 32


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"text_truncation": "NONE"}, "text_truncation"),
        ({"text_truncation": "left"}, "text_truncation"),
        ({"contents": []}, "contents"),
        ({"output_dimension": 0}, "output_dimension"),
        ({"task_type": "query"}, "task_type"),
    ],
)
async def test_what_cannot_be_done_is_400_and_names_its_field(
    stack: Native, change: dict[str, Any], field: str
) -> None:
    status, body = await stack.post("embeddings", {"contents": ["a"], **change})
    assert status == 400
    assert field in str(body)
    assert not stack.script.asked


async def test_embeddings_are_400_for_a_model_that_writes(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        status, body = await stack.post("embeddings", {"contents": ["a"]})
    assert status == 400
    assert "is not an embedding model" in body["detail"]


async def test_an_embedding_model_is_listed_as_one(stack: Native) -> None:
    listed = (await stack.server.client.get("/v1/models")).json()["data"]
    assert {model["model_type"] for model in listed} == {"embedding"}
