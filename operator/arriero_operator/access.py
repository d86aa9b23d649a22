"""How a model's pods are reached: its Service, and the NetworkPolicy where the chart wants one."""

from arriero_api import labels
from arriero_operator.apply import Applier, Part
from arriero_operator.cache import Cache
from arriero_operator.kube.protocol import POLICIES, SERVICES
from arriero_operator.render import service
from arriero_operator.render.networkpolicy import network_policy
from arriero_operator.rounds import Round, owned
from arriero_operator.settings import Settings


class Access:
    """Brings the Services and NetworkPolicies of models into their wanted state."""

    def __init__(self, applier: Applier, cache: Cache, settings: Settings) -> None:
        self._applier = applier
        self._cache = cache
        self._settings = settings

    async def ensure(self, now: Round) -> None:
        """Raises as Applier.ensure."""
        await self._policy(now)
        observed = now.observed
        intent = service.service(observed.owner, observed.spec.service)
        await self._applier.ensure(observed.owner, SERVICES, [Part(labels.MANAGER, intent)])
        # The Service of an earlier name goes when the new one is there.
        for obj in self._cache.children(SERVICES, now.key[0], observed.stem):
            if obj["metadata"]["name"] != intent["metadata"]["name"] and owned(obj, now):
                await self._applier.remove(SERVICES, obj)

    async def _policy(self, now: Round) -> None:
        observed, rules = now.observed, self._settings.network_policies
        if rules.enabled:
            intent = network_policy(observed.owner, observed.spec, rules, self._settings.hub_endpoint)
            await self._applier.ensure(observed.owner, POLICIES, [Part(labels.MANAGER, intent)])
            return
        stored = self._cache.get(POLICIES, now.key[0], observed.stem)
        if stored is not None and owned(stored, now):
            await self._applier.remove(POLICIES, stored)


def url(now: Round) -> str:
    """Where clients reach the model; as before where the Service is not brought up to date."""
    wanted = service.url(now.observed.owner, now.observed.spec.service)
    held = now.outcome.refused is not None or now.observed.spec.paused
    return str(now.observed.before.get("url") or wanted) if held else wanted
