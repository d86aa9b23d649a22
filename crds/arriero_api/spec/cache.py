"""Where fetched models and compile caches are kept: spec.cache."""

from typing import Annotated, Literal

from pydantic import Field

from arriero_api.schema import Quantity, Schema, matching, ruled
from arriero_api.spec.container import ObjectName

AccessMode = Literal["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]


class EmptyDirCache(Schema):
    """A cache that lives as long as the pod, on the node's ephemeral storage."""

    size_limit: Quantity | None = Field(default=None, description="The most it may hold; default: no limit.")


class ClaimCache(Schema):
    """A cache on a PersistentVolumeClaim of the namespace that is there already, and stays when the model goes."""

    claim_name: ObjectName = Field(description="Name of the claim. Several models may share one.")


class ClaimTemplate(Schema):
    """A claim that the operator makes for the model, for all of its pods. It goes with the model."""

    storage_class_name: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=253,
                json_schema_extra=matching(
                    "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
                    "storageClassName must be the name of a StorageClass: lower-case letters, digits and - . only",
                ),
            ),
        ]
        | None
    ) = Field(default=None, description="Its StorageClass; default: the cluster's default class.")
    access_modes: (
        Annotated[
            list[AccessMode],
            Field(min_length=1, max_length=3, json_schema_extra={"x-kubernetes-list-type": "set"}),
        ]
        | None
    ) = Field(
        default=None,
        description="How it may be mounted; default: ReadWriteOnce, by pods of one node. Several replicas need ReadWriteMany.",
    )
    size: Quantity = Field(description="Its size, for example 100Gi. It may be raised later where the class allows it.")

    model_config = ruled(
        {
            "rule": "has(self.storageClassName) == has(oldSelf.storageClassName) && "
            "(!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",
            "message": "storageClassName of a claim cannot be changed: make a claim of your own and name it in persistentVolumeClaim",
        },
        {
            "rule": "has(self.accessModes) == has(oldSelf.accessModes) && "
            "(!has(self.accessModes) || (self.accessModes.all(m, m in oldSelf.accessModes) && "
            "oldSelf.accessModes.all(m, m in self.accessModes)))",
            "message": "accessModes of a claim cannot be changed: make a claim of your own and name it in persistentVolumeClaim",
        },
        {
            "rule": "quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",
            "message": "a claim cannot be made smaller: leave size as it was, or name another claim in persistentVolumeClaim",
        },
    )


class Cache(Schema):
    """Where fetched models and compile caches are kept: exactly one of the three."""

    empty_dir: EmptyDirCache | None = Field(
        default=None, description="A cache that lives as long as the pod, on the node's ephemeral storage."
    )
    persistent_volume_claim: ClaimCache | None = Field(
        default=None,
        description="A cache on a PersistentVolumeClaim of the namespace that is there already, and stays when the model goes.",
    )
    claim_template: ClaimTemplate | None = Field(
        default=None,
        description="A claim that the operator makes for the model, for all of its pods. It goes with the model.",
    )

    model_config = ruled(
        {
            "rule": "[has(self.emptyDir), has(self.persistentVolumeClaim), has(self.claimTemplate)].exists_one(x, x)",
            "message": "spec.cache needs exactly one of emptyDir, persistentVolumeClaim and claimTemplate",
        }
    )
