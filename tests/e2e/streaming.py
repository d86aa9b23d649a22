"""An answer that is streamed by a pod while something else happens to it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.request import Request, urlopen

from arriero_api import pod
from arriero_api.contract import RuntimeStatus
from tests.support.eventually import eventually

TOKENS = 900
"""How long the answer is: with the prompt about all of the example's context, to outlast what is done meanwhile."""
_END_SECONDS = 240


@dataclass
class Stream:
    """What has come of it so far; `error` is why it broke off."""

    address: str
    pieces: int = 0
    tokens: int = 0
    finish: str = ""
    done: bool = False
    error: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def ends_in_full(self) -> None:
        """Wait for the end. Fails where the answer was cut."""
        assert self.ended.wait(_END_SECONDS), f"no end after {self.pieces} pieces"
        assert (self.error, self.finish, self.tokens, self.done) == ("", "length", TOKENS, True)

    def read(self, model: str) -> None:
        """Read it to the end."""
        body = {
            "model": model,
            "messages": [{"role": "user", "content": "Tell me a long story about a mule."}],
            "max_tokens": TOKENS,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        url = f"http://{self.address}:8080/v1/chat/completions"
        request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urlopen(request, timeout=_END_SECONDS) as response:
                for line in response:
                    self._take(line.decode().strip().removeprefix("data: "))
        except OSError as error:
            self.error = f"{type(error).__name__}: {error}"
        finally:
            self.ended.set()

    def _take(self, text: str) -> None:
        if text == "[DONE]":
            self.done = True
        elif text:
            event = json.loads(text)
            self.tokens = (event.get("usage") or {}).get("completion_tokens", self.tokens)
            for choice in event.get("choices", ()):
                self.finish = choice.get("finish_reason") or self.finish
                self.pieces += 1


def _in_flight(address: str) -> int:
    """How many requests the pod says that it has."""
    with urlopen(f"http://{address}:{pod.CONTROL_PORT}/status", timeout=30) as response:
        return RuntimeStatus.from_json(response.read().decode()).requests_in_flight


@contextmanager
def streams(model: str, addresses: list[str]) -> Iterator[list[Stream]]:
    """One open stream of each pod; afterwards all must have ended in full.

    Each pod has its request; engines that share few cores may send their first words one after the other.
    """
    found = [Stream(address) for address in addresses]
    readers = [threading.Thread(target=one.read, args=(model,), daemon=True) for one in found]
    for reader in readers:
        reader.start()
    eventually(lambda: all(_in_flight(one.address) for one in found), 60)
    eventually(lambda: any(one.pieces for one in found), 60)
    assert not any(one.ended.is_set() for one in found), found
    yield found
    for one in found:
        one.ends_in_full()
