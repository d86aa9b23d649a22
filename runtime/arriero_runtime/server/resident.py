"""The model that is loaded where clients register models, or on its way."""

import asyncio
from dataclasses import dataclass

from arriero_api.contract import NameKind, Registration, Registrations
from arriero_runtime.model import Model
from arriero_runtime.server.refusals import RegistrationRefused
from arriero_runtime.server.wish import Wish


@dataclass(slots=True, eq=False)
class Resident:
    """`wishes` has its names, the oldest first. `load` has what refused it, or None; `watch` waits for its death."""

    model: Model
    wishes: dict[str, Wish]
    load: "asyncio.Task[RegistrationRefused | None]"
    watch: "asyncio.Task[None] | None" = None

    def is_of(self, model: Model) -> bool:
        return (self.model.uri, self.model.revision) == (model.uri, model.revision)

    @property
    def registrations(self) -> Registrations:
        """Its names, the oldest as the model's own."""
        names = list(self.wishes)
        others = (Registration(name, NameKind.ALIAS) for name in names[1:])
        return Registrations((Registration(names[0], NameKind.MODEL), *others))
