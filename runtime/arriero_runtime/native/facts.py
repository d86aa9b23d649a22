"""What the Llama Stack routes know of the model that is served."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from arriero_api import llama_names, pod, uris
from arriero_api.contract import Phase
from arriero_api.pod import NO_PARSER
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.native.formats.llama import LlamaChat
from arriero_runtime.server.routes import COMPLETIONS, EMBEDDINGS

PROVIDER_ID: Final = "vllm"
PROVIDER_TYPE: Final = "inline::vllm"


@dataclass(slots=True)
class Facts:
    """`repository` is the hub's repository, empty for a model from elsewhere. `paths` are those of the engine's
    application, `message_ends` the ids of tokens that end a message but not the turn. `uri` is where the model comes
    from. `registered`: clients have given the names, so that only these and other ways to write them mean the model.
    `dimension`: how many numbers the vectors of an embedding model have; 0 for others.
    `resource` is the name of the InferenceModel, empty where there is none.
    `llama`: how chats are asked by Llama Stack's prompts; None where they are not."""

    life: LifeCycle
    repository: str
    paths: Callable[[], frozenset[str]]
    message_ends: Callable[[], frozenset[int]]
    uri: str = ""
    registered: bool = False
    dimension: int = 0
    llama: LlamaChat | None = None
    resource: str = field(default_factory=lambda: os.environ.get(pod.RESOURCE_VARIABLE, ""))

    def of_model(self, uri: str) -> None:
        """From now on the model is this one; empty where none is."""
        self.uri, self.repository, self.dimension = uri, repository_of(uri), 0

    @property
    def ready(self) -> bool:
        return self.life.phase is Phase.READY

    @property
    def own_name(self) -> str:
        """The model's own name; empty before it is known."""
        return self.life.status.names[0] if self.life.status.names else ""

    @property
    def adapters(self) -> Mapping[str, str]:
        """Name → URI of each adapter, also of one that is not there yet."""
        return {adapter.name: adapter.uri for adapter in self.life.status.adapters}

    @property
    def effective(self) -> Mapping[str, str | int | bool]:
        return self.life.status.effective

    @property
    def reasons(self) -> bool:
        """A parser splits reasoning off the model's answers."""
        return self.effective.get("reasoningParser", NO_PARSER) != NO_PARSER

    @property
    def embeds(self) -> bool:
        """An embedding model, not one that writes."""
        return EMBEDDINGS in self.paths() and COMPLETIONS not in self.paths()

    def served_name(self, name: str) -> str:
        """The name to ask the engine by: `name`, unless it is another way to write the repository that is served.

        A name that means nothing here stays as it is, so that the engine refuses it.
        """
        status = self.life.status
        known = name in status.names or any(one.name == name for one in status.adapters)
        if known or not llama_names.means(name, self.repository):
            return name
        if not self.registered:
            return self.own_name
        return next((own for own in status.names if llama_names.means(own, self.repository)), name)


def repository_of(uri: str) -> str:
    """The hub's repository in a model URI; empty for other sources."""
    try:
        found = uris.parse(uri)
    except uris.UriError:
        return ""
    return found.location if found.scheme == uris.HF else ""
