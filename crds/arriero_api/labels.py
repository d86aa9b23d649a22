"""Names that Arriero puts on objects: the API group, labels, annotations and field managers."""

from typing import Final

GROUP: Final = "arriero.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "InferenceModel"
PLURAL: Final = "inferencemodels"

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGED_BY_VALUE: Final = "arriero"
MODEL: Final = "arriero.dev/model"
"""Label of every child: the stem of the children's names (a DNS-1035 label), see `arriero_operator.render.names`."""
REVISION: Final = "arriero.dev/revision"
"""Label of pods, ControllerRevisions and registration ConfigMaps: the revision's hash."""
SERVING: Final = "arriero.dev/serving"
"""Label of pods, always "true": a stable selector for InferencePool pickers and monitors."""

OWNER: Final = "arriero.dev/inferencemodel"
"""Annotation of every child and pod: the name of its InferenceModel, which may be too long for a label."""
REGISTRATIONS: Final = "arriero.dev/registrations"
"""Annotation of a pod: hash of the registrations last written for it; a change makes the kubelet sync at once."""
REPLACING: Final = "arriero.dev/replacing"
"""Annotation of a Deployment during a rollout that takes old pods down first: revision, and how many may be missing."""
NUDGE: Final = "arriero.dev/nudge"
"""Annotation of a Deployment: changed so that a pod that a quota refused is tried again at once."""

MANAGER: Final = "arriero"
"""Field manager of children."""
TEMPLATE_MANAGER: Final = "arriero-template"
"""Field manager of a Deployment's selector and pod template, applied from the stored revision."""
STATUS_MANAGER: Final = "arriero-status"
"""Field manager of the InferenceModel's status."""
