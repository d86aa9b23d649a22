"""Where pods may run, and by whose leave: the profile's words in the pod's spec. What is not said is left out."""

from typing import Any

from arriero_operator.render import names
from arriero_operator.render.inputs import Inputs

Json = dict[str, Any]


def placement(model: str, inputs: Inputs) -> Json:
    """Fields of the PodSpec. A spread without a selector of its own counts the pods of `model`."""
    own = {"labelSelector": {"matchLabels": names.selector(model)}}
    found: Json = {
        "nodeSelector": dict(inputs.node_selector),
        "tolerations": [dict(toleration) for toleration in inputs.tolerations],
        "runtimeClassName": inputs.runtime_class_name,
        "affinity": dict(inputs.affinity),
        "topologySpreadConstraints": [own | dict(one) for one in inputs.topology_spread_constraints],
        "priorityClassName": inputs.priority_class_name,
        "imagePullSecrets": [{"name": name} for name in inputs.image_pull_secrets],
    }
    return {name: value for name, value in found.items() if value}
