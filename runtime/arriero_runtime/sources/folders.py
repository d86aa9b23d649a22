"""Models that are there already: a folder of a claim, or of the image. Used in place."""

from pathlib import Path

from arriero_api.contract import Phase
from arriero_api.uris import PVC, ModelUri
from arriero_runtime.failing import start_error
from arriero_runtime.sources import files


def find(uri: ModelUri, claim_dir: Path) -> Path:
    """The model's folder. Raises StartError (ModelNotFound, ModelIncomplete) that names it."""
    folder = claim_dir / uri.path if uri.scheme == PVC else Path(uri.path)
    where = f"The claim {uri.location}" if uri.scheme == PVC else "The image"
    shown = f"/{uri.path}" if uri.scheme == PVC else uri.path
    try:
        if not folder.is_dir():
            raise start_error("ModelNotFound", f"{where} has no folder {shown}.", Phase.RESOLVING)
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
