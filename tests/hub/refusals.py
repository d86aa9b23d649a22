"""The hub's ways to say no, as its client tells them apart: status, X-Error-Code and X-Error-Message."""

from dataclasses import dataclass, field

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tests.hub.repository import Repository

__all__ = ["ClientGone", "NoAnswer", "Refusal", "Tokens"]


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}

    def response(self) -> Response:
        """The error as HTTP."""
        code = {"X-Error-Code": self.code} if self.code else {}
        headers = {**code, "X-Error-Message": self.message, **self.headers}
        return JSONResponse({"error": self.message}, self.status, headers)


class ClientGone(Exception):
    """The client has left a hub that is silent; whatever would be answered now was never asked for."""


class NoAnswer(Response):
    """Sends nothing, not even a status."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request end."""


@dataclass
class Tokens:
    """The tokens that the hub knows, each with the private and gated repositories that it opens."""

    known: dict[str, set[str]] = field(default_factory=dict)

    def check(self, token: str) -> None:
        """Raise Refusal for a token that is given and not known."""
        if token and token not in self.known:
            raise Refusal(401, "", "Invalid credentials in Authorization header")

    def see(self, repository: Repository | None, token: str) -> Repository:
        """The repository, if this token (or nobody) may know of it.

        To anonymous callers the hub answers 401 for what is private and for what is not there alike.
        """
        self.check(token)
        if repository is None or (repository.private and repository.name not in self.known.get(token, ())):
            if token:
                raise Refusal(404, "RepoNotFound", "Repository not found")
            raise Refusal(401, "RepoNotFound", "Invalid username or password.")
        return repository

    def read(self, repository: Repository, token: str) -> None:
        """Raise Refusal unless this token may have the repository's files."""
        if not repository.gated or repository.name in self.known.get(token, ()):
            return
        restricted = f"Access to model {repository.name} is restricted"
        if token:
            raise Refusal(403, "GatedRepo", f"{restricted} and you are not in the authorized list.")
        raise Refusal(401, "GatedRepo", f"{restricted}. You must have access to it and be authenticated.")
