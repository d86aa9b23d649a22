"""All that the hub knows, and how it is told."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.hub.faults import Faults
from tests.hub.record import Seen
from tests.hub.refusals import Tokens
from tests.hub.repository import Commit, Repository

__all__ = ["State"]


@dataclass
class State:
    """Repositories, tokens, faults, and the requests so far; bodies go at `bytes_per_second` if that is given.
    `tells_sizes`: whether the list of a repository has sizes for who asks for them, which mirrors may not give."""

    bytes_per_second: int | None = None
    tells_sizes: bool = True
    repositories: dict[str, Repository] = field(default_factory=dict)
    tokens: Tokens = field(default_factory=Tokens)
    faults: Faults = field(default_factory=Faults)
    requests: list[Seen] = field(default_factory=list)

    def add_repo(
        self, name: str, folder: Path, *, branch: str = "main", gated: bool = False, private: bool = False
    ) -> str:
        """Make the folder's content the head of a branch of `owner/model`; gives the commit's id.

        The repository is made if it is not there; its earlier commits stay. Raises ValueError for a bad name or an
        empty folder.
        """
        if name.count("/") != 1:
            raise ValueError(f"repository {name!r}: give owner/model")
        commit = Commit.of_folder(folder)
        repository = self.repositories.setdefault(name, Repository(name))
        repository.gated, repository.private = gated, private
        repository.move(branch, commit)
        return commit.sha

    def add_token(self, token: str, opens: Iterable[str] = ()) -> None:
        """Know a token that opens these private and gated repositories."""
        self.tokens.known[token] = set(opens)
