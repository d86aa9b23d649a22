"""What the server needs of an engine, and nothing more."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from arriero_runtime.model import Model

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
HOSTED_TOOLS: Final = "hosted tools"
"""Honoured by an engine that was started with servers of tools, which it calls itself."""
STRAIGHT: Final = "arriero.straight"
"""In a request's scope: the server's own `Send`. Behind a stream's head an application may use it in place of the one
that it was called with, around which its parts may have put theirs."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals since the engine's start: steps that the engine made, tokens that it read and wrote.

    `requests` are those that the engine itself holds now: handed to it and not ended. Of an engine of several parts
    that work each for itself, `steps` stand still as long as one of them holds requests and makes none.
    """

    steps: int = 0
    tokens: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The answer to the question that is asked before readiness.

    `values` are the log probabilities of the answer's tokens, each the likeliest, or the numbers of a pooled vector.
    `blind` is the log probability of each token for a model that knows nothing; None for vectors.
    """

    values: tuple[float, ...]
    blind: float | None = None


@dataclass(frozen=True, slots=True)
class LoraCapacity:
    """What an engine was started for: adapters of up to this rank, so many of them at hand."""

    max_rank: int
    max_loaded: int


class AdapterRefused(Exception):
    """The engine does not take an adapter. `reason` is of the catalogue; the text is the engine's own."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class EngineGone(Exception):
    """The engine has died over what it was asked."""


class EngineSilent(Exception):
    """The engine lives and does not answer what it was asked; the text says for how long."""


class Tokens(Protocol):
    """The tokens of a model, for prompts that are made of token ids."""

    def plain(self, text: str) -> list[int]:
        """Ids of a text, in which nothing stands for a control token, however it is spelled."""

    def special(self, spelling: str) -> int | None:
        """The id of a control token; None where the model has none of this spelling."""


class Engine(Protocol):
    """A loaded model."""

    @property
    def app(self) -> AsgiApp:
        """The OpenAI application, served as an application of its own."""

    @property
    def paths(self) -> frozenset[str]:
        """The paths that `app` has: they depend on what the model can do."""

    @property
    def effective(self) -> Mapping[str, str | int | bool]:
        """Values in force, such as maxModelLen and dtype."""

    @property
    def message_ends(self) -> frozenset[int]:
        """Ids of tokens that end a message but not the turn, where the model has such: a tool is to be called."""

    async def tokens(self) -> Tokens | None:
        """None where text cannot be turned into ids without becoming control tokens, or makes no sense."""

    def document(self) -> Mapping[str, Any]:
        """The OpenAPI document of `app`. Takes a second."""

    @property
    def control_tokens(self) -> frozenset[str]:
        """How the tokens are written that end messages and the like: in what people say they shall mean nothing."""

    @property
    def honoured(self) -> frozenset[str]:
        """Parameters of requests that work only with certain flags, and do so here; and HOSTED_TOOLS."""

    @property
    def lora(self) -> LoraCapacity | None:
        """What it can hold of adapters; None for an engine that was started without."""

    @property
    def errored(self) -> bool:
        """The engine is dead and will not come back."""

    def counters(self) -> Counters:
        """Cheap enough to be read every second."""

    def metrics(self) -> str:
        """All series in the Prometheus text format."""

    def rename(self, names: Sequence[str]) -> None:
        """Serve these names from now on, the first as the model's own. Requests under way are not touched."""

    async def load_adapter(self, name: str, folder: Path) -> int | None:
        """Answer for `name` with the adapter in `folder`, also where the name had another. Requests under way keep
        their weights. The folder is read again later. Gives the number of the weights that the name had before, None
        where it had none. Raises AdapterRefused, EngineSilent, EngineGone; then all is as before."""

    def unload_adapter(self, name: str) -> int | None:
        """Answer no more for `name`. Requests under way go on. Gives the number of the weights that it had."""

    async def drop_adapter(self, weights: int) -> None:
        """Take weights away that no name has any more, once no request is under way with them: they would take the room
        of others. Raises whatever the engine raises."""

    async def first_answer(self) -> FirstAnswer:
        """A short answer from the loaded weights. Raises whatever the engine raises."""

    async def abort_all(self) -> None:
        """End every request under way with an orderly last word, also with an engine that hangs."""

    async def stop(self, seconds: float) -> None:
        """End the engine's processes, by force after `seconds`. Always ends itself, at most three times as late."""


class EngineLoader(Protocol):
    """Makes engines from flags, one after the other. Its methods raise `StartError` with what is wrong."""

    @property
    def flags(self) -> Sequence[str]:
        """As they were written."""

    async def check_arguments(self) -> None:
        """Refuse flags that cannot work, before anything is fetched."""

    async def check_model(self, folder: Path, model: Model) -> None:
        """Refuse a model by what stands beside its weights: the folder has everything but them."""

    async def load(self, folder: Path, names: Sequence[str], model: Model) -> Engine:
        """The engine for `model`, which is in `folder`, ready to be asked. After a failure nothing is left running."""

    def give_up(self) -> None:
        """Make a `load` that is under way fail soon. To be repeated until it has."""
