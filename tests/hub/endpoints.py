"""What the hub's clients can ask."""

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tests.hub import documents
from tests.hub.body import send
from tests.hub.faults import API, Fault
from tests.hub.refusals import ClientGone, Refusal
from tests.hub.repository import Commit, File, Repository
from tests.hub.state import State

__all__ = ["Endpoints"]


class Endpoints:
    """Handlers that read one State. A fault of a large file is for the request of its content, not the redirect."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def info(self, request: Request) -> Response:
        """Metadata of a model at a revision; with `blobs`, sizes of its files."""
        await self._fault(request, API)
        repository, commit = self._see(request)
        blobs = self._state.tells_sizes and request.query_params.get("blobs", "").lower() == "true"
        return JSONResponse(documents.model_info(repository, commit, blobs))

    async def tree(self, request: Request) -> Response:
        """The files of a revision."""
        await self._fault(request, API)
        return JSONResponse(documents.tree(self._see(request)[1]))

    async def refs(self, request: Request) -> Response:
        """The branches of a model."""
        await self._fault(request, API)
        return JSONResponse(documents.refs(self._see(request)[0]))

    async def resolve(self, request: Request) -> Response:
        """A file; a large one is elsewhere, as on the real hub."""
        repository = self._state.repositories.get(_name(request))
        commit = repository.at(_revision(request)) if repository else None
        large = bool(commit and (known := commit.files.get(_path(request))) and known.large)
        fault = None if large else await self._fault(request, _path(request))
        repository, commit = self._see(request)
        self._state.tokens.read(repository, _token(request))
        file = _file(request, commit)
        headers = documents.file_headers(commit, file)
        if not file.large:
            return self._send(request, file, headers, fault)
        owner, model = repository.name.split("/")
        target = request.url_for("large", owner=owner, model=model, revision=commit.sha, path=file.path)
        return RedirectResponse(target, 302, headers)

    async def large(self, request: Request) -> Response:
        """The content of a large file. Its address is the leave to read it, as a signed one is: no token is asked."""
        fault = await self._fault(request, _path(request))
        repository = self._state.repositories.get(_name(request))
        commit = repository.at(_revision(request)) if repository else None
        if commit is None:
            raise Refusal(404, "EntryNotFound", "Entry not found")
        file = _file(request, commit)
        return self._send(request, file, documents.file_headers(commit, file), fault)

    def _see(self, request: Request) -> tuple[Repository, Commit]:
        known = self._state.repositories.get(_name(request))
        repository = self._state.tokens.see(known, _token(request))
        revision = _revision(request)
        commit = repository.at(revision)
        if commit is None:
            raise Refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return repository, commit

    async def _fault(self, request: Request, path: str) -> Fault | None:
        fault = self._state.faults.take(_name(request), path, body=request.method != "HEAD")
        if fault and fault.silent:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            raise ClientGone
        if fault and fault.status:
            after = {"Retry-After": str(fault.retry_after)} if fault.retry_after is not None else {}
            raise Refusal(fault.status, "", f"the hub answers {fault.status} on request", after)
        return fault

    def _send(self, request: Request, file: File, headers: dict[str, str], fault: Fault | None) -> Response:
        speed = fault.bytes_per_second if fault and fault.bytes_per_second else self._state.bytes_per_second
        return send(request, file, headers, speed, fault)


def _name(request: Request) -> str:
    return "{owner}/{model}".format(**request.path_params)


def _revision(request: Request) -> str:
    return str(request.path_params.get("revision", "main"))


def _path(request: Request) -> str:
    return str(request.path_params["path"])


def _token(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _file(request: Request, commit: Commit) -> File:
    file = commit.files.get(_path(request))
    if file is None:
        raise Refusal(404, "EntryNotFound", "Entry not found")
    return file
