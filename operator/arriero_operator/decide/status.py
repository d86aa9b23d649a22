"""The status of an InferenceModel as JSON, from the situation and what stood there before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from arriero_api.accelerators import ACCELERATORS
from arriero_operator.decide.conditions import Verdict, conditions
from arriero_operator.decide.situation import Situation
from arriero_operator.diagnose.failures import bounded
from arriero_operator.diagnose.stage import DRAINING, Stage
from arriero_operator.pods.facts import PodFacts
from arriero_operator.render import names

Json = dict[str, Any]

_EFFECTIVE: Final = {"maxModelLen": int, "dtype": str, "maxNumSeqs": int}
_ACCELERATORS: Final = 128
_LABEL: Final = 63
_SHORT: Final = 256
_PLACE: Final = 512
_NAMES: Final = 256
"""Bounds of the resource's schema: one text that is longer, and no status could be written any more."""


@dataclass(frozen=True, slots=True)
class Described:
    """What the status says beside the conditions; `commit` is that of the wanted revision, empty while unknown.

    `profile` is the one in force, empty for one that the chart does not have.
    """

    name: str
    url: str
    resolved: str
    commit: str = ""
    profile: str = ""
    accelerators: Mapping[str, str] = field(default_factory=dict)


def status(s: Situation, d: Described, before: Mapping[str, Any], now: str) -> Json:
    """The whole status; `before` is the one that stands, `now` the time for conditions that flip."""
    ready = [pod for pod in s.live if pod.ready]
    found: Json = {
        "observedGeneration": s.generation,
        "url": bounded(d.url, _PLACE),
        "selector": ",".join(f"{key}={value}" for key, value in names.selector(d.name).items()),
        "replicas": len(s.live),
        "readyReplicas": len(ready),
        "updatedReplicas": s.updated,
        "profile": bounded(d.profile, _LABEL),
        "accelerators": bounded(_list(d.accelerators), _ACCELERATORS),
        "model": _model(s, d, ready, before.get("model") or {}),
        "names": [_name(one) for one in s.names[:_NAMES]],
        "conditions": timed(conditions(s), before.get("conditions") or (), s.generation, now),
    }
    for key in ("profile", "accelerators"):
        if not found[key]:
            del found[key]
    if (step := under_way(s)) is not None:
        found["progress"] = _progress(step)
    return found


def under_way(s: Situation) -> Stage | None:
    """What goes on right now; None at rest, and for a model that waits for somebody to mend it."""
    if not s.paused and s.refused is None and s.failure is None and s.ready_applied < s.replicas:
        return s.stage
    if s.draining:
        words = "1 pod lets its requests end" if s.draining == 1 else f"{s.draining} pods let their requests end"
        return Stage(DRAINING, None, words)
    return None


def _model(s: Situation, d: Described, ready: list[PodFacts], before: Mapping[str, Any]) -> Json:
    serving = sorted({pod.revision for pod in ready})
    good = s.wanted if s.replicas and s.ready_updated >= s.replicas else before.get("lastGood")
    same = before.get("wanted") == s.wanted
    found: Json = {
        "resolved": bounded(d.resolved, _PLACE),
        "revision": bounded(d.commit, _SHORT) or (before.get("revision") if same else None),
        "serving": s.wanted if s.wanted in serving else next(iter(serving), None),
        "wanted": s.wanted or None,
        "lastGood": good,
        "effective": _effective(s) or (before.get("effective") if same else None),
    }
    return {key: value for key, value in found.items() if value is not None}


def _effective(s: Situation) -> Json | None:
    """The engine's own report, as far as the status has fields for it."""
    said = (pod.status.effective for pod in s.live if pod.status and pod.revision == s.wanted)
    for values in said:
        known = {key: _within(values[key]) for key, kind in _EFFECTIVE.items() if type(values.get(key)) is kind}
        if known:
            return known
    return None


def _within(value: Any) -> Any:
    """A runtime's word, as long as the schema takes it."""
    return bounded(value, _SHORT) if isinstance(value, str) else value


def _list(accelerators: Mapping[str, str]) -> str:
    """Known kinds of accelerators first, as a pod may ask for many other extended resources: networks, for example."""
    found = sorted(accelerators.items(), key=lambda one: (one[0] not in ACCELERATORS, one[0]))
    return ", ".join(f"{name}: {amount}" for name, amount in found)


def _progress(step: Stage) -> Json:
    found: Json = {"phase": step.phase, "message": bounded(step.message)}
    return found if step.percent is None else found | {"percent": step.percent}


def _name(one: Any) -> Json:
    found: Json = {"name": one.name, "kind": one.kind, "state": one.state, "pods": one.pods}
    told = {"message": bounded(one.message), "until": one.until}
    return found | {key: text for key, text in told.items() if text}


def timed(verdicts: list[Verdict], before: Any, generation: int, now: str) -> list[Json]:
    """Conditions as JSON; the time of one whose status stands moves not."""
    known = {one["type"]: one for one in before}
    found = []
    for verdict in verdicts:
        old = known.get(verdict.type)
        since = old["lastTransitionTime"] if old and old["status"] == verdict.status else now
        found.append(
            {
                "type": verdict.type,
                "status": verdict.status,
                "reason": verdict.reason,
                "message": verdict.message,
                "observedGeneration": generation,
                "lastTransitionTime": since,
            }
        )
    return found
