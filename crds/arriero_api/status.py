"""The status of an InferenceModel: what is served, what is under way, and why something does not work."""

from typing import Annotated, Literal

from pydantic import Field

from arriero_api.schema import Schema, listed_by

_Text = Annotated[str, Field(max_length=1024)]
_Short = Annotated[str, Field(max_length=256)]


class Condition(Schema):
    """One aspect of the state, as Kubernetes' conditions are."""

    type: Annotated[str, Field(max_length=64)] = Field(description="The aspect.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: Annotated[str, Field(max_length=64, pattern=r"^[A-Z][A-Za-z]*$")] = Field(
        description="A name of the catalogue in docs/reasons.md."
    )
    message: Annotated[str, Field(max_length=4096)] = Field(description="What happened and what to do.")
    observed_generation: int = Field(description="The generation that this was said of.")
    last_transition_time: Annotated[str, Field(max_length=32, json_schema_extra={"format": "date-time"})] = Field(
        description="When the status last changed."
    )


class Effective(Schema):
    """Engine values in force, as the engine reports them."""

    max_model_len: int | None = Field(default=None, description="Longest context in tokens.")
    dtype: _Short | None = Field(default=None, description="Number format of the weights.")
    max_num_seqs: int | None = Field(default=None, description="Most requests handled at once.")


class ModelStatus(Schema):
    """Which model, which commit, which revisions."""

    resolved: Annotated[str, Field(max_length=512)] | None = Field(
        default=None, description="The source that pods of the wanted revision use."
    )
    revision: _Short | None = Field(default=None, description="The commit that all pods of the wanted revision serve.")
    serving: _Short | None = Field(default=None, description="Revision that ready pods are of.")
    wanted: _Short | None = Field(default=None, description="Revision that the spec asks for.")
    last_good: _Short | None = Field(default=None, description="Revision that was last ready with all its replicas.")
    effective: Effective | None = Field(default=None, description="Engine values in force.")


class NameStatus(Schema):
    """One name that clients may call."""

    name: Annotated[str, Field(max_length=253)] = Field(description="The name; by default the object's own.")
    kind: Literal["Model", "Alias", "Adapter"] = Field(description="What it stands for.")
    state: Literal["Registering", "Registered", "Unregistering", "Conflict", "Failed"] = Field(
        description="Registered when all ready pods serve it; Failed for an adapter that a pod cannot load."
    )
    pods: int = Field(default=0, description="How many ready pods serve it.")
    message: _Text | None = Field(default=None, description="Why it is withheld or has failed, and what to do.")
    until: Annotated[str, Field(max_length=32, json_schema_extra={"format": "date-time"})] | None = Field(
        default=None, description="Of a name that is Unregistering: pods accept it up to this time at least."
    )


class ProgressStatus(Schema):
    """How far a start has come; present only while something is under way."""

    phase: Annotated[str, Field(max_length=64)] = Field(description="The step, for example Downloading.")
    percent: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="How much of the step is done."
    )
    message: _Text | None = Field(default=None, description="In words, for example '2.5 of 6.0 GiB, 110 MB/s'.")


class Status(Schema):
    """The observed state of a served model."""

    observed_generation: int | None = Field(default=None, description="The generation that the status speaks of.")
    url: Annotated[str, Field(max_length=512)] | None = Field(
        default=None, description="Where clients in the cluster reach the model."
    )
    selector: Annotated[str, Field(max_length=512)] | None = Field(
        default=None, description="Label selector of the pods, for the scale subresource."
    )
    replicas: int | None = Field(default=None, description="Pods that exist.")
    ready_replicas: int | None = Field(default=None, description="Pods that answer.")
    updated_replicas: int | None = Field(default=None, description="Pods of the wanted revision.")
    accelerators: Annotated[str, Field(max_length=128)] | None = Field(
        default=None, description="Accelerators of one pod, for example 'nvidia.com/gpu: 1'."
    )
    profile: Annotated[str, Field(max_length=63)] | None = Field(
        default=None, description="The profile in force: spec.profile, or else the chart's default."
    )
    model: ModelStatus | None = Field(default=None, description="Which model, which commit, which revisions.")
    names: Annotated[list[NameStatus], Field(max_length=256, json_schema_extra=listed_by("name"))] | None = Field(
        default=None, description="The names that clients may call."
    )
    progress: ProgressStatus | None = Field(
        default=None, description="How far a start has come; present only while something is under way."
    )
    conditions: Annotated[list[Condition], Field(max_length=16, json_schema_extra=listed_by("type"))] | None = Field(
        default=None, description="Aspects of the state; wait for Ready."
    )


__all__ = ["Condition", "Effective", "ModelStatus", "NameStatus", "ProgressStatus", "Status"]
