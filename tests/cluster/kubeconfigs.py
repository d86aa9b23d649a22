"""Writes kubeconfig files, with the certificates inside, for people, tests and the components."""

import base64
import json
from pathlib import Path

from tests.cluster.certificates import Authority, Pair


def write_kubeconfig(path: Path, server: str, authority: Authority, pair: Pair, cluster: str) -> Path:
    """Write `path` so that a client reaches `server` as the holder of `pair`; `cluster` names the context."""
    data = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {"server": server, "certificate-authority-data": _inline(authority.certificate)},
            }
        ],
        "users": [
            {
                "name": path.stem,
                "user": {
                    "client-certificate-data": _inline(pair.certificate),
                    "client-key-data": _inline(pair.key),
                },
            }
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": path.stem}}],
        "current-context": cluster,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps(data, indent=1))  # JSON is YAML
    return path


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
