"""A hub that runs in another process, told what to do over HTTP."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from tests.hub.admin import PREFIX
from tests.hub.faults import Fault
from tests.hub.record import Seen

__all__ = ["RemoteHub"]


class RemoteHub:
    """The same controls as Hub's for the hub at `url`. Raises ValueError for what that hub refuses."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=f"{url}{PREFIX}", timeout=60)

    @property
    def requests(self) -> list[Seen]:
        """What clients asked so far, oldest first."""
        return [Seen(**seen) for seen in self._call("GET", "/requests")]

    def add_repo(
        self, name: str, folder: Path, *, branch: str = "main", gated: bool = False, private: bool = False
    ) -> str:
        """As Hub.add_repo; the folder is read by the hub's process."""
        body = {"name": name, "folder": str(folder), "branch": branch, "gated": gated, "private": private}
        return str(self._call("POST", "/repositories", body)["result"])

    def add_token(self, token: str, opens: Iterable[str] = ()) -> None:
        """As Hub.add_token."""
        self._call("POST", "/tokens", {"token": token, "opens": list(opens)})

    def fault(self, fault: Fault) -> None:
        """As Hub.fault."""
        self._call("POST", "/faults", asdict(fault))

    def clear_faults(self) -> None:
        """As Hub.clear_faults."""
        self._call("DELETE", "/faults")

    def close(self) -> None:
        """Let go of the connection; the hub runs on."""
        self._client.close()

    def _call(self, method: str, path: str, body: object = None) -> Any:
        response = self._client.request(method, path, json=body)
        if response.status_code == 400:
            raise ValueError(response.json()["error"])
        return response.raise_for_status().json()
