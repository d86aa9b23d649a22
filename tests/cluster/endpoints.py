"""The addresses and ports of one control plane: chosen once, kept in its state folder."""

import json
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Endpoints:
    """Where etcd (on loopback) and the API server (on `host`) listen."""

    host: str
    api_port: int
    etcd_port: int
    peer_port: int

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://{self.host}:{self.api_port}"

    @property
    def etcd(self) -> str:
        """The URL at which etcd serves the API server."""
        return f"http://{LOOPBACK}:{self.etcd_port}"

    @property
    def peer(self) -> str:
        """The URL that etcd wants for other members; there are none."""
        return f"http://{LOOPBACK}:{self.peer_port}"

    @classmethod
    def of(cls, folder: Path, host: str) -> "Endpoints":
        """The endpoints kept in `folder`; at first, free ports are chosen."""
        path = folder / "endpoints.json"
        if path.is_file():
            return cls(**json.loads(path.read_text()))
        chosen = cls(host, *_free_ports(3))
        path.write_text(json.dumps(asdict(chosen)))
        return chosen


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for item in sockets:
            item.bind((LOOPBACK, 0))
        return [int(item.getsockname()[1]) for item in sockets]
    finally:
        for item in sockets:
            item.close()
