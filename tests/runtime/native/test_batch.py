"""Batches: all items at once, answered in order."""

import asyncio
from pathlib import Path
from typing import Any

from tests.runtime.native.played import Answer, chat, completion, native
from tests.support.eventually import eventually_async

USER = {"role": "user", "content": "Hello"}


async def test_completions_are_asked_at_once_and_answered_in_order(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        stack.script.play = lambda body: Answer(completion(body["prompt"].upper()), wait=True)
        prompts = ["a", {"type": "text", "text": "b"}, [{"type": "text", "text": "c"}]]
        asking = asyncio.ensure_future(
            stack.post("batch-completion", {"content_batch": prompts, "sampling_params": {"max_tokens": 4}}, {})
        )
        await eventually_async(lambda: len(stack.script.asked) == 3)
        assert stack.server.serving.dispatcher.in_flight == 1
        stack.engine.release.set()
        status, body = await asking
        assert status == 200
        assert [item["content"] for item in body["batch"]] == ["A", "B", "C"]
        assert all(item["stop_reason"] == "end_of_turn" and item["metrics"] for item in body["batch"])
        assert all(one.body["max_tokens"] == 4 for one in stack.script.asked)


async def test_chats_share_tools_and_options_and_have_ids_of_their_own(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        body = {
            "messages_batch": [[USER], [USER, {"role": "assistant", "content": "Hi"}, USER]],
            "tools": [{"tool_name": "f"}],
            "tool_config": {"tool_choice": "required"},
        }
        status, found = await stack.post("batch-chat-completion", body, {"x-request-id": "abc"})
        assert status == 200
        assert [item["completion_message"]["content"] for item in found["batch"]] == ["Paris", "Paris"]
        assert {one.body["tool_choice"] for one in stack.script.asked} == {"required"}
        assert {one.headers["x-request-id"] for one in stack.script.asked} == {"abc-0", "abc-1"}


async def test_items_that_are_alike_are_asked_alike_and_a_single_chat_too(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        messages = [{"role": "system", "content": "Be kind."}, {**USER, "context": "known"}]
        tool = {"tool_name": "f", "parameters": {"a": {"param_type": "list[int]"}}}
        shared = {"tools": [tool], "sampling_params": {"max_tokens": 4, "stop": ["x"]}}
        await stack.post("batch-chat-completion", {"messages_batch": [messages] * 3, **shared})
        await stack.post("chat-completion", {"messages": messages, **shared})
        asked = [one.body for one in stack.script.asked]
    assert len(asked) == 4
    assert all(one == asked[0] for one in asked)


async def test_one_bad_item_does_not_hide_the_error_of_another(tmp_path: Path) -> None:
    def play(body: dict[str, Any]) -> Answer:
        if body["messages"][0]["content"] == "Hello":
            return Answer(chat())
        return Answer({"error": {"message": f"too long: {body['messages'][0]['content']}"}}, 400)

    async with native(tmp_path) as stack:
        stack.script.play = play
        batch = [[{**USER, "content": "x"}], [USER], [{**USER, "content": "y"}]]
        status, body = await stack.post("batch-chat-completion", {"messages_batch": batch})
    assert status == 400
    assert body["detail"] == "item 0: Invalid value: too long: x; item 2: Invalid value: too long: y"


async def test_an_item_that_is_no_request_is_400_with_its_number_and_nothing_is_asked(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        status, body = await stack.post("batch-chat-completion", {"messages_batch": [[USER], []]})
        assert status == 400
        assert body["error"]["detail"]["errors"][0]["loc"] == ["body", "messages_batch", 1]
        image = {"type": "image", "image": {"data": "x"}}
        status, body = await stack.post("batch-completion", {"content_batch": ["a", image]})
        assert status == 400
        assert "content_batch[1]" in body["detail"]
        assert not stack.script.asked


async def test_a_client_that_leaves_stops_all_of_a_batch(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        stack.script.always(Answer(completion(), wait=True))
        asking = asyncio.ensure_future(stack.post("batch-completion", {"content_batch": ["a", "b", "c"]}))
        await eventually_async(lambda: len(stack.script.asked) == 3)
        asking.cancel()
        await eventually_async(lambda: stack.engine.disconnects == 3)
        await eventually_async(lambda: stack.server.serving.dispatcher.in_flight == 0)
