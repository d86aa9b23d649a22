"""The names of models in Llama Stack, and the hub repositories that they stand for.

A name is a core name, with `:variant` where there are several weights of one model. All repositories are those of
`meta-llama`. Several names may share a repository, and the first then stands for it.
"""

from typing import Final

ORGANISATION: Final = "meta-llama"


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _dashed(*names: str) -> dict[str, str]:
    """From 3.1 on the repository has a dash where the name has none."""
    return {name: name.replace("Llama3", "Llama-3", 1) for name in names}


_LLAMA_2: Final = _same(*(f"Llama-2-{size}{chat}" for chat in ("", "-chat") for size in ("7b", "13b", "70b")))
_LLAMA_3: Final = _same(*(f"Llama-3-{size}{tuned}" for tuned in ("", "-Instruct") for size in ("8B", "70B")))
_LLAMA_3_1: Final = {
    name: repository
    for tuned in ("", "-Instruct")
    for name, repository in {
        **_dashed(f"Llama3.1-8B{tuned}", f"Llama3.1-70B{tuned}"),
        f"Llama3.1-405B{tuned}": f"Llama-3.1-405B{tuned}-FP8",
        f"Llama3.1-405B{tuned}:bf16-mp8": f"Llama-3.1-405B{tuned}",
        f"Llama3.1-405B{tuned}:bf16-mp16": f"Llama-3.1-405B{tuned}",
    }.items()
}
_LLAMA_3_2: Final = {
    **_dashed(*(f"Llama3.2-{size}{t}" for t in ("", "-Instruct") for size in ("1B", "3B", "11B-Vision", "90B-Vision"))),
    **{
        f"Llama3.2-{size}-Instruct:{variant}": f"Llama-3.2-{size}-Instruct-{suffix}"
        for size in ("1B", "3B")
        for variant, suffix in (("int4-qlora-eo8", "QLORA_INT4_EO8"), ("int4-spinquant-eo8", "SpinQuant_INT4_EO8"))
    },
}
_LLAMA_3_3: Final = _dashed("Llama3.3-70B-Instruct")
_LLAMA_4: Final = {
    **_same("Llama-4-Scout-17B-16E", "Llama-4-Maverick-17B-128E"),
    **_same("Llama-4-Scout-17B-16E-Instruct", "Llama-4-Maverick-17B-128E-Instruct"),
    "Llama-4-Maverick-17B-128E-Instruct:fp8": "Llama-4-Maverick-17B-128E-Instruct-FP8",
}
_GUARD: Final = {
    "Llama-Guard-3-8B": "Llama-Guard-3-8B",
    "Llama-Guard-3-8B:int8": "Llama-Guard-3-8B-INT8",
    "Llama-Guard-3-1B": "Llama-Guard-3-1B",
    "Llama-Guard-3-1B:int4": "Llama-Guard-3-1B-INT4",
    "Llama-Guard-3-11B-Vision": "Llama-Guard-3-11B-Vision",
    "Llama-Guard-2-8B": "Llama-Guard-2-8B",
}

REPOSITORIES: Final[dict[str, str]] = {
    name: f"{ORGANISATION}/{repository}"
    for family in (_LLAMA_2, _LLAMA_3, _LLAMA_3_1, _LLAMA_3_2, _LLAMA_3_3, _LLAMA_4, _GUARD)
    for name, repository in family.items()
}
"""Llama Stack name → repository."""


def names_of(repository: str) -> tuple[str, ...]:
    """The Llama Stack names of a repository, the one that stands for it first; empty where it has none."""
    wanted = repository.casefold()
    return tuple(name for name, found in REPOSITORIES.items() if found.casefold() == wanted)


def repository_of(name: str) -> str:
    """The repository that a name means, in any way to write it (see `means`); empty for a name of something else."""
    exact = REPOSITORIES.get(name)
    return exact or next((found for found in REPOSITORIES.values() if means(name, found)), "")


def means(name: str, repository: str) -> bool:
    """Whether `name` is another way to write this repository: itself, without its organisation, or a Llama Stack name.

    Case does not count. A repository that Llama Stack does not know has no other names.
    """
    known = names_of(repository)
    forms = {*known, repository, repository.partition("/")[2]} if known else set()
    return name.casefold() in {form.casefold() for form in forms}
