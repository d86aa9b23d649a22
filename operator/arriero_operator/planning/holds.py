"""Whether fewer pods are asked for, because those before have failed one after the other."""

from arriero_operator.decide import failed
from arriero_operator.decide.failed import Hold
from arriero_operator.observing.live_pods import LivePods
from arriero_operator.rounds.round import Round


async def hold(now: Round, live: LivePods) -> bool:
    """Put it into the round; decided by pods as they are, where that takes some down.

    True: they are not what the round had. Raises KubeError.
    """
    now.hold = _hold(now)
    if now.hold is None or now.hold.replicas >= now.deployed or not await live.look(now):
        return False
    now.hold = _hold(now)
    return True


def _hold(now: Round) -> Hold | None:
    return failed.hold(now.observed.pods, now.applied, now.replicas, now.moment)
