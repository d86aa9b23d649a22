"""What is there: the model, its pods with the runtime's word, its Deployment. From the cache, but for /status."""

from dataclasses import replace

from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import DEPLOYMENTS, MODELS, REVISIONS, Object
from arriero_operator.observing.misread import read
from arriero_operator.observing.pod_events import PodEvents
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.pods.facts import PodFacts, pod_facts
from arriero_operator.render import names
from arriero_operator.render.owner import Owner
from arriero_operator.rounds.observed import Observed
from arriero_operator.work.keys import Key


def observe(cache: Cache, statuses: RuntimeStatuses, heard: PodEvents, key: Key) -> Observed | None:
    """The model and its pods; None for a model that is gone or going: the garbage collector does the rest.

    Raises TerminalError for a spec of which this version understands nothing.
    """
    namespace, name = key
    model = cache.get(MODELS, namespace, name)
    if model is None or "deletionTimestamp" in model["metadata"]:
        return None
    spec, misread = read(model.get("spec") or {})
    stem = names.stem(name)
    return Observed(
        key=key,
        model=model,
        spec=spec,
        owner=Owner(namespace, name, model["metadata"]["uid"], spec.operator_class),
        stem=stem,
        pods=pods_of(cache, statuses, heard, key),
        misread=misread,
    )


def pods_of(cache: Cache, statuses: RuntimeStatuses, heard: PodEvents, key: Key) -> list[PodFacts]:
    """The model's pods with the last answers of their runtimes, and what Events say of them."""
    found = []
    for obj in cache.pods(*key):
        bare = pod_facts(obj)
        status, progressed = statuses.known(key, bare), statuses.progressed(key, bare)
        told = heard.known(key, bare.uid)
        heard_of = status is not None or told != bare.told
        found.append(replace(bare, status=status, progressed=progressed, told=told) if heard_of else bare)
    return found


def revisions_of(cache: Cache, observed: Observed) -> list[Object]:
    """The model's ControllerRevisions."""
    return cache.children(REVISIONS, observed.key[0], observed.stem)


def deployment_of(cache: Cache, observed: Observed) -> Object | None:
    """The model's Deployment."""
    return cache.get(DEPLOYMENTS, observed.key[0], observed.stem)
