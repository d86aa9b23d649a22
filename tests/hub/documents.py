"""The hub's JSON documents and the headers of its files."""

from tests.hub.repository import Commit, File, Repository

__all__ = ["file_headers", "model_info", "refs", "tree"]


def model_info(repository: Repository, commit: Commit, blobs: bool) -> dict[str, object]:
    """A model at a commit; with `blobs` also the sizes and ids of its files."""
    return {
        "_id": commit.sha[:24],
        "id": repository.name,
        "modelId": repository.name,
        "author": repository.name.partition("/")[0],
        "sha": commit.sha,
        "private": repository.private,
        "gated": "manual" if repository.gated else False,
        "disabled": False,
        "tags": [],
        "siblings": [_sibling(file, blobs) for file in commit.files.values()],
    }


def tree(commit: Commit) -> list[dict[str, object]]:
    """The files of a commit, as for a recursive listing."""
    return [
        {"type": "file", "path": file.path, "size": file.size, "oid": file.oid} | _lfs(file, "oid")
        for file in commit.files.values()
    ]


def refs(repository: Repository) -> dict[str, object]:
    """The branches of a model."""
    branches = [
        {"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit.sha}
        for name, commit in repository.branches.items()
    ]
    return {"branches": branches, "tags": [], "converts": []}


def file_headers(commit: Commit, file: File) -> dict[str, str]:
    """What a client learns of a file without its content."""
    linked = {"X-Linked-Etag": f'"{file.etag}"', "X-Linked-Size": str(file.size)} if file.large else {}
    return {"ETag": f'"{file.etag}"', "X-Repo-Commit": commit.sha, **linked}


def _sibling(file: File, blobs: bool) -> dict[str, object]:
    sizes = {"size": file.size, "blobId": file.oid} | _lfs(file, "sha256") if blobs else {}
    return {"rfilename": file.path, **sizes}


def _lfs(file: File, name: str) -> dict[str, object]:
    return {"lfs": {name: file.sha256, "size": file.size, "pointerSize": 134}} if file.large else {}
