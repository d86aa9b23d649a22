"""An image: layers, how to start it, and its OCI documents."""

import io
import json
import tarfile
from dataclasses import dataclass

from tests.cluster.images import digest
from tests.cluster.images.layer import Layer

__all__ = ["Image"]

OCI = "application/vnd.oci.image"


@dataclass(frozen=True)
class Image:
    """`name:tag`, where the tag is the digest of everything in it."""

    name: str
    layers: list[Layer]
    config: dict[str, object]
    """The `config` object of the OCI image configuration: User, Env, Entrypoint, WorkingDir."""

    @property
    def tag(self) -> str:
        """Twelve hex digits; another content has another tag, so IfNotPresent is always right."""
        return digest.of_values(self.config, [layer.diff_id for layer in self.layers])[:12]

    @property
    def reference(self) -> str:
        """What a pod's `image` says."""
        return f"{self.name}:{self.tag}"

    @property
    def full_name(self) -> str:
        """The reference as containerd keeps it."""
        return f"docker.io/library/{self.reference}"

    def archive(self) -> bytes:
        """An OCI archive of the documents alone: the layers come as snapshots."""
        config = _json(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": self.config,
                "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in self.layers]},
            }
        )
        layers = [{"mediaType": f"{OCI}.layer.v1.tar", "digest": layer.diff_id, "size": 1} for layer in self.layers]
        manifest = _json(
            {
                "schemaVersion": 2,
                "mediaType": f"{OCI}.manifest.v1+json",
                "config": _descriptor(config, "config.v1+json"),
                "layers": layers,
            }
        )
        entry = _descriptor(manifest, "manifest.v1+json") | {
            "platform": {"os": "linux", "architecture": "amd64"},
            "annotations": {"io.containerd.image.name": self.full_name},
        }
        index = _json({"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [entry]})
        blobs = {f"blobs/sha256/{digest.of_bytes(blob)}": blob for blob in (config, manifest)}
        return _tar({"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index, **blobs})


def _json(document: object) -> bytes:
    return json.dumps(document, sort_keys=True).encode()


def _descriptor(blob: bytes, kind: str) -> dict[str, object]:
    return {"mediaType": f"{OCI}.{kind}", "digest": f"sha256:{digest.of_bytes(blob)}", "size": len(blob)}


def _tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()
