"""Models that are there already: a folder of a claim, of a mounted image, or of the runtime's image. Used in place."""

from pathlib import Path
from typing import Final

from arriero_api.contract import Phase
from arriero_api.uris import OCI, PVC, ModelUri
from arriero_runtime.failing import start_error
from arriero_runtime.sources import files

_INSIDE: Final = ("", "models", "model")
"""Where images that hold a model have it: at their root, or as usual in one of these folders."""
_REMEDY: Final = "Correct spec.model.uri, or put the model there."


def find(uri: ModelUri, claim_dir: Path) -> Path:
    """The model's folder. Raises StartError (ModelNotFound, ModelIncomplete) that names it."""
    if uri.scheme == OCI:
        return _in_image(uri, claim_dir)
    folder = claim_dir / uri.path if uri.scheme == PVC else Path(uri.path)
    where = f"The claim {uri.location}" if uri.scheme == PVC else "The image"
    shown = f"/{uri.path}" if uri.scheme == PVC else uri.path
    try:
        if not folder.is_dir():
            words = f"{where} has no folder {shown}."
            raise start_error("ModelNotFound", words, Phase.RESOLVING, remedy=_REMEDY)
        names = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise start_error(
            "ModelNotFound",
            f"{where}: the folder {shown} cannot be read: {error.strerror}.",
            Phase.RESOLVING,
            remedy="Give the files to user or group 65532, or make them readable for all.",
        ) from error
    if missing := files.lacks(names):
        raise start_error("ModelIncomplete", f"The folder {shown} of {uri} lacks {missing}.", Phase.RESOLVING)
    return folder


def _in_image(uri: ModelUri, mount: Path) -> Path:
    for name in _INSIDE:
        folder = mount / name
        try:
            if folder.is_dir() and not files.lacks(path.name for path in folder.iterdir()):
                return folder
        except OSError as error:
            words = f"The image {uri.location} cannot be read: {error.strerror}."
            raise start_error("ModelNotFound", words, Phase.RESOLVING, remedy=_REMEDY) from error
    places = ", ".join(f"/{name}" for name in _INSIDE)
    words = f"The image {uri.location} has no model (config.json and *.safetensors) in any of {places}."
    raise start_error(
        "ModelIncomplete", words, Phase.RESOLVING, remedy="Build the image with the model's files in one."
    )
