"""How pods are replaced: spec.rollout."""

from typing import Annotated, Literal

from pydantic import Field

from arriero_api.schema import Schema, ruled


class Rollout(Schema):
    """How pods of a changed model replace the older ones."""

    strategy: Literal["Auto", "Surge", "Replace"] = Field(
        default="Auto",
        description=(
            "Surge starts each new pod beside the old ones and waits for room. Replace takes an old pod down first. Auto surges, and "
            "replaces where the new pod waits for what an old one holds: accelerators, other resources, a quota, a volume."
        ),
    )
    surge_wait_seconds: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=30, description="How long Auto lets a new pod wait for room before an old one is taken down for it."
    )
    surge_wait_max_seconds: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=900,
        description=(
            "The same while the new pod has a nominated node: by an autoscaler that brings one, or by the scheduler that frees one."
        ),
    )

    progress_deadline_seconds: Annotated[int, Field(ge=30, le=604_800)] = Field(
        default=1800,
        description=(
            "For how long a new revision may make no progress (placing, pulling, fetching, loading) before it is given up. Where "
            "there is none to go back to, the model is Stalled with the reason NoProgress, and its pods go on."
        ),
    )
    rollback: bool = Field(
        default=True,
        description=(
            "Go back to the last good revision when the new one is given up, or fails for a cause that trying again cannot mend."
        ),
    )

    model_config = ruled(
        {
            "rule": "self.surgeWaitMaxSeconds >= self.surgeWaitSeconds",
            "message": "spec.rollout.surgeWaitMaxSeconds is less than surgeWaitSeconds: raise it or lower surgeWaitSeconds",
        }
    )
