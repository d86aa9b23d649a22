"""What is fetched: a model, or an adapter; which of a source's files belong to it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from arriero_api.contract import Phase
from arriero_runtime.adapters.fit import FILES
from arriero_runtime.failing import start_error
from arriero_runtime.sources import files


def _adapter_files(paths: Iterable[str]) -> list[str]:
    found = set(paths)
    return [name for name in FILES if name in found]


def _adapter_lacks(paths: Iterable[str]) -> str:
    found = set(paths)
    return " and no ".join(name for name in FILES if name not in found)


@dataclass(frozen=True, slots=True)
class Kind:
    """`shelf` is its folder of the cache; `needed` chooses files, `lacks` says what is missing among some.

    `weights` and `small` are names that it may have, for a source that cannot list. `code`: its own modules too.
    """

    shelf: str
    needed: Callable[[Iterable[str]], list[str]]
    lacks: Callable[[Iterable[str]], str]
    incomplete: str
    remedy: str
    weights: tuple[str, ...]
    small: tuple[str, ...]
    code: bool = False

    def chosen(self, paths: Iterable[str], where: str) -> list[str]:
        """The files to fetch. Raises StartError where it is not whole; `where` begins the sentence."""
        found = self.needed(paths)
        self.require(found, where)
        return found

    def require(self, paths: Iterable[str], where: str) -> None:
        """Raises StartError where something is missing among `paths`."""
        if missing := self.lacks(paths):
            raise start_error(self.incomplete, f"{where} has no {missing}.", Phase.RESOLVING, remedy=self.remedy)


MODEL: Final = Kind(
    "models",
    files.needed,
    files.lacks,
    "ModelIncomplete",
    "Use a source that holds the model in the transformers format.",
    ("model.safetensors", "consolidated.safetensors"),
    files.KNOWN,
)
MODEL_WITH_CODE: Final = replace(MODEL, shelf="models-with-code", needed=files.needed_with_code, code=True)
"""Apart from the others: what was fetched without its code is complete for those who do not run it alone."""
ADAPTER: Final = Kind(
    "adapters", _adapter_files, _adapter_lacks, "AdapterInvalid", "", ("adapter_model.safetensors",), FILES[:1]
)
