"""How a model's pods are reached: its Service, and the NetworkPolicy where the chart wants one."""

from typing import Final
from urllib.parse import urlsplit

from arriero_api import labels
from arriero_api.types import Service
from arriero_operator.applying.apply import Applier
from arriero_operator.applying.parts import Part
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.kube.protocol import POLICIES, SERVICES
from arriero_operator.render import names, service
from arriero_operator.render.networkpolicy import network_policy
from arriero_operator.rounds.round import Round

_PLAIN: Final = "ClusterIP"


class Access:
    """Brings the Services and NetworkPolicies of models into their wanted state."""

    def __init__(self, applier: Applier, cache: Cache, settings: Settings) -> None:
        self._applier = applier
        self._cache = cache
        self._settings = settings

    async def service(self, now: Round) -> None:
        """The Service; as it was announced, where the spec is not acted on. Raises as Applier.ensure."""
        observed = now.observed
        wanted = self._announced(now) if now.plan.held else observed.spec.service
        intent = service.service(observed.owner, wanted)
        await self._applier.ensure(observed.owner, SERVICES, [Part(labels.MANAGER, intent)])
        # The Service of an earlier name goes when the new one is there.
        for obj in self._cache.children(SERVICES, now.key[0], observed.stem):
            if obj["metadata"]["name"] != intent["metadata"]["name"] and observed.owner.owns(obj):
                await self._applier.remove(SERVICES, obj)

    def _announced(self, now: Round) -> Service:
        """By the name and port of the status, and of the type that it has: the rest of spec.service changes nobody's
        way to the model."""
        wanted = now.observed.spec.service
        place = urlsplit(str(now.observed.before.get("url") or service.url(now.observed.owner, wanted)))
        name = str(place.hostname).partition(".")[0]
        live = self._cache.get(SERVICES, now.key[0], name)
        allowed = wanted.type in self._settings.policy.service_types
        kind = live["spec"]["type"] if live is not None else wanted.type if allowed else _PLAIN
        return wanted.model_copy(update={"name": name, "port": place.port or names.HTTP, "type": kind})

    async def policy(self, now: Round) -> None:
        """The NetworkPolicy; where the spec is not acted on, pods may go out as before. Raises as Applier.ensure."""
        observed, rules = now.observed, self._settings.network_policies
        stored = self._cache.get(POLICIES, now.key[0], observed.stem)
        if rules.enabled:
            profile = self._settings.profile(observed.spec.profile)
            env = (profile.engine.env or ()) if profile is not None else ()
            intent = network_policy(observed.owner, observed.spec, rules, self._settings.hub_endpoint, env)
            if now.plan.held and stored is not None:
                intent["spec"]["egress"] = stored["spec"].get("egress") or []
            await self._applier.ensure(observed.owner, POLICIES, [Part(labels.MANAGER, intent)])
            return
        if stored is not None and observed.owner.owns(stored):
            await self._applier.remove(POLICIES, stored)


def url(now: Round) -> str:
    """Where clients reach the model; as before where the Service is not brought up to date."""
    wanted = service.url(now.observed.owner, now.observed.spec.service)
    held = now.outcome.refused is not None or now.observed.spec.paused
    return str(now.observed.before.get("url") or wanted) if held else wanted
