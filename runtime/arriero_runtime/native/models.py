"""/v1/models: one object per name that OpenAI clients and Llama Stack clients of all ages read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from arriero_api import llama_names
from arriero_runtime.engine.protocol import AsgiApp, Receive, Scope, Send
from arriero_runtime.native.facts import PROVIDER_ID, Facts
from arriero_runtime.native.inner import Caller
from arriero_runtime.native.text import to_json
from arriero_runtime.server.answers import Refusal, reply
from arriero_runtime.server.routes import MODELS

_METADATA: Final = {
    "maxModelLen": "context_length",
    "dtype": "dtype",
    "quantization": "quantization",
    "toolCallParser": "tool_call_parser",
    "reasoningParser": "reasoning_parser",
}
"""Engine value in force → key of the metadata."""
MetadataOf = Callable[[str], Mapping[str, Any]]


class Models:
    """The handlers of /v1/models and /v1/models/NAME."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def all(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """All names: what the engine's application lists, with the members of Llama Stack added."""
        found = await self.found(app, scope, receive)
        await reply(send, 200, to_json({"object": "list", "data": found}))

    async def get(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """One of them; 404 for a name that is not served."""
        name = scope["path"].rpartition(f"{MODELS}/")[2]
        wanted = self._facts.served_name(name)
        for model in await self.found(app, scope, receive):
            if model["id"] == wanted:
                await reply(send, 200, to_json(model))
                return
        await self.unknown(name).send(send)

    @property
    def phase(self) -> tuple[str, str]:
        """How far the model has come, in a word and in words."""
        status = self._facts.life.status
        return status.phase.value, status.progress.message

    def served_name(self, name: str) -> str:
        """The name that is served, where this is another way to write it."""
        return self._facts.served_name(name)

    @staticmethod
    def unknown(name: str) -> Refusal:
        """No such model here."""
        words = f"The model '{name}' is not served here; GET {MODELS} lists the names."
        return Refusal(404, "invalid_request_error", words, extra={"param": "model"})

    async def add(self, scope: Scope, receive: Receive, send: Send) -> None:
        """403: names are the resource's."""
        words = (
            "Models are not registered here: the names of this one stand in its InferenceModel resource. For one more: "
            f"{self._patch([*self._facts.life.status.names[1:], 'ANOTHER-NAME'])}; for another model create another "
            "InferenceModel."
        )
        await Refusal(403, "permission_error", words).send(send)

    async def remove(self, scope: Scope, receive: Receive, send: Send) -> None:
        """403 likewise."""
        name = scope["path"].rpartition(f"{MODELS}/")[2]
        if any(one.name == name for one in self._facts.life.status.adapters):
            remedy = f"take it out of spec.lora.adapters: kubectl edit inferencemodel {self._resource}"
        elif name == self._facts.own_name:
            remedy = f"kubectl delete inferencemodel {self._resource}"
        else:
            remedy = self._patch([alias for alias in self._facts.life.status.names[1:] if alias != name])
        words = (
            "Models are not unregistered here: the names of this one stand in its InferenceModel resource. To remove "
            f"'{name}': {remedy}"
        )
        await Refusal(403, "permission_error", words).send(send)

    @property
    def _resource(self) -> str:
        return self._facts.resource or "NAME-OF-THE-RESOURCE"

    def _patch(self, aliases: Sequence[str]) -> str:
        merge = to_json({"spec": {"model": {"aliases": list(aliases)}}})
        return f"kubectl patch inferencemodel {self._resource} --type=merge -p '{merge}'"

    async def found(
        self, app: AsgiApp, scope: Scope, receive: Receive, metadata: MetadataOf = lambda name: {}
    ) -> list[dict[str, Any]]:
        """An object for each name; `metadata` is what a registration added to it."""
        async with Caller(app, scope, receive) as caller:
            answer = await caller.ask("GET", MODELS)
        listed = answer.json
        return [self._superset(model, metadata(model["id"])) for model in listed["data"]]

    def _superset(self, model: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
        """`root` is where the weights come from, `parent` the model that an adapter changes: nobody outside knows the
        folders of a pod."""
        facts = self._facts
        adapter = facts.adapters.get(model["id"], "")
        metadata = {**added, **self._metadata(adapter)}
        identity = {
            "model_type": "embedding" if facts.embeds else "llm",
            "provider_id": PROVIDER_ID,
            "provider_resource_id": adapter or facts.repository or facts.own_name,
        }
        return {
            "object": "model",
            "created": 0,
            "owned_by": "vllm",
            **model,
            "root": adapter or facts.uri or model["id"],
            "parent": facts.own_name if adapter else None,
            "identifier": model["id"],
            "type": "model",
            **identity,
            "metadata": metadata,
            "custom_metadata": {**identity, **metadata},
        }

    def _metadata(self, adapter: str) -> dict[str, Any]:
        facts = self._facts
        found: dict[str, Any] = {
            name: facts.effective[key] for key, name in _METADATA.items() if key in facts.effective
        }
        if facts.dimension:
            found["embedding_dimension"] = facts.dimension
        if adapter:
            return found | {"base_model": facts.own_name}
        if facts.repository:
            found["huggingface_repo"] = facts.repository
        if names := llama_names.names_of(facts.repository):
            found["llama_model"] = names[0]
        return found
