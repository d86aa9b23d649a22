"""Models that make embeddings or scores, with the real engine."""

import base64
import math
import struct
from pathlib import Path

import pytest
from openai import OpenAI

from tests import models
from tests.runtime.openai.asking import SAID, error_of
from tests.support.live import live

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]


def test_an_embedding_model_answers_for_embeddings_alone(folder: Path) -> None:
    with live(models.embedder(), folder) as server, server.client() as client:
        openai = OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        floats = openai.embeddings.create(model="chat", input=["a cat", "a dog"], encoding_format="float")
        assert [one.index for one in floats.data] == [0, 1]
        assert all(len(one.embedding) == 128 and all(map(math.isfinite, one.embedding)) for one in floats.data)
        assert floats.usage.total_tokens == floats.usage.prompt_tokens > 0
        body = {"model": "one", "input": "a cat", "encoding_format": "base64"}
        packed = base64.b64decode(client.post("/v1/embeddings", json=body).json()["data"][0]["embedding"])
        assert struct.unpack("<128f", packed) == pytest.approx(floats.data[0].embedding, abs=1e-3)
        assert client.post("/pooling", json={"model": "one", "input": "a cat"}).status_code == 200
        native = {"model_id": "one", "contents": ["a cat"]}
        assert len(client.post("/v1/inference/embeddings", json=native).json()["embeddings"][0]) == 128
        error_of(client.post("/v1/embeddings", json={"model": "one", "input": "word " * 600}))
        error_of(client.post("/v1/embeddings", json={"model": "one", "input": []}))
        error_of(client.post("/v1/embeddings", json={"model": "one", "input": "x", "dimensions": 8}))
        error_of(client.post("/v1/embeddings", json={"model": "other", "input": "x"}), 404)
        pair = {"model": "one", "text_1": "a cat", "text_2": "a dog"}
        first, second = (one.embedding for one in floats.data)
        near = sum(a * b for a, b in zip(first, second, strict=True)) / math.hypot(*first) / math.hypot(*second)
        scored = client.post("/score", json=pair).json()["data"]
        assert [one["score"] for one in scored] == [pytest.approx(near, abs=1e-2)]
        for path in ("/v1/chat/completions", "/v1/completions", "/v1/responses"):
            told = error_of(client.post(path, json={"model": "one", "messages": SAID}), 404)["message"]
            assert "cannot answer" in told


def test_a_model_that_scores_pairs_scores_and_ranks(folder: Path) -> None:
    with live(models.scorer(), folder) as server, server.client() as client:
        pair = {"model": "one", "text_1": "a cat", "text_2": ["a dog", "the stock market"]}
        scores = [one["score"] for one in client.post("/v1/score", json=pair).json()["data"]]
        assert len(scores) == 2
        ranking = {"model": "one", "query": "a cat", "documents": ["a dog", "the stock market"], "top_n": 2}
        results = client.post("/v1/rerank", json=ranking).json()["results"]
        ranked = {one["index"]: one["relevance_score"] for one in results}
        assert [ranked[0], ranked[1]] == pytest.approx(scores, abs=1e-3)
        assert [one["relevance_score"] for one in results] == sorted(scores, reverse=True)
        assert error_of(client.post("/v1/score", json={**pair, "text_3": "x"}))["param"] == "text_3"
        error_of(client.post("/v1/score", json={"model": "one"}))
        error_of(client.post("/v1/embeddings", json={"model": "one", "input": "x"}), 404)
