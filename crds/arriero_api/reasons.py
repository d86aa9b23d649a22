"""The closed catalogue of condition reasons: each with its meaning, its remedy and whether a retry can mend it.

docs/reasons.md is generated from it. A failure's message says what happened here; the remedy says what to do.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of a condition.

    `permanent` marks failures that a retry with the same inputs cannot mend: the runtime waits instead of hammering,
    and `Stalled` is set at once.
    """

    name: str
    meaning: str
    remedy: str = ""
    permanent: bool = False


def _state(name: str, meaning: str) -> Reason:
    return Reason(name, meaning)


def _fault(name: str, meaning: str, remedy: str, *, permanent: bool = False) -> Reason:
    return Reason(name, meaning, remedy, permanent)


_ALL: Final = (
    # States: nothing is wrong.
    _state("Accepted", "The resource can be acted on."),
    _state("Scheduled", "All pods have a node."),
    _state("Scheduling", "A pod waits for the scheduler."),
    _state("StartingContainer", "The image is being pulled, volumes are mounted, the container is started."),
    _state("Resolving", "The runtime looks up the model at its source."),
    _state("Downloading", "The runtime fetches the model."),
    _state("Loading", "The engine loads the model."),
    _state("Warming", "The engine is asked for a first answer."),
    _state("EngineReady", "All wanted replicas have an engine that answers."),
    _state("Registered", "All names are served by all ready pods."),
    _state("Registering", "A changed list of names is on its way to the pods."),
    _state(
        "AdapterNeedsRollout", "An adapter waits for new pods: those that serve lack its Secret or the room for it."
    ),
    _state("NameHandover", "Another model of the namespace is giving up one of the names; it is taken over by itself."),
    _state("Available", "At least one replica answers."),
    _state("NoReadyReplica", "No replica answers."),
    _state("ScaledToZero", "No replica is wanted: spec.replicas is 0."),
    _state("UpToDate", "All pods are of the wanted revision."),
    _state("RollingOut", "Pods of the wanted revision replace older ones."),
    _state("Paused", "Nothing but this status is changed while spec.paused is true."),
    _state("RolledBack", "The wanted revision was given up: pods are of the last good one."),
    _state(
        "SurgeWaiting", "The new pod waits for what an old one holds; the old one is taken down for it before long."
    ),
    _state("Replacing", "An old pod is taken down before its successor starts: there is no room for both."),
    _state("Ready", "All that the spec asks for is served."),
    _state("Draining", "A pod lets its requests end before it stops."),
    # Refused before any pod.
    _fault(
        "SpecNotUnderstood",
        "The spec has something that this version of the operator does not know: the CRD is of another version.",
        "Upgrade the operator to the version of the CRD, or take the named field out of the spec.",
        permanent=True,
    ),
    _fault(
        "ProfileUnknown",
        "The chart has no profile of this name.",
        "Use one of the named profiles in spec.profile, or add it to the chart's values.",
        permanent=True,
    ),
    _fault(
        "SharedMemoryTooLarge",
        "/dev/shm may grow larger than the memory limit that it counts against: the kernel would end the container.",
        "Lower spec.sharedMemory, or raise spec.resources.limits.memory.",
        permanent=True,
    ),
    _fault(
        "EngineFlagOwned",
        "spec.engine.args has a flag that Arriero sets itself.",
        "Do what is said of each flag.",
        permanent=True,
    ),
    _fault(
        "EngineEnvOwned",
        "spec.engine.env has a variable that Arriero sets itself.",
        "Remove the named variable, or do what is said of it.",
        permanent=True,
    ),
    _fault(
        "PodTemplateFieldOwned",
        "spec.podTemplate has something that Arriero sets itself.",
        "Do what is said of each path.",
        permanent=True,
    ),
    _fault(
        "PodTemplateInvalid",
        "No pods can be made with spec.podTemplate laid over them, or the API server refuses them.",
        "Correct the named field.",
        permanent=True,
    ),
    _fault(
        "NotAllowed",
        "The chart's policy does not allow authors of InferenceModels to ask for this.",
        "Change the named field, or have the chart's value 'policy' widened.",
        permanent=True,
    ),
    _fault(
        "AcceleratorsMismatch",
        "The parallel sizes need more accelerators than one pod has.",
        "Raise spec.resources.limits, or lower the parallel sizes of spec.engine.",
        permanent=True,
    ),
    _fault(
        "ReferenceMissing",
        "Something that the spec or the profile refers to does not exist, or lacks the key.",
        "Create what is not there, or correct the field that refers to it. It is looked for by itself.",
        permanent=True,
    ),
    _fault(
        "ClaimNotShareable",
        "A claim that one node only may mount cannot serve several replicas.",
        "Use a claim with access mode ReadWriteMany or ReadOnlyMany, or set spec.replicas to 1.",
        permanent=True,
    ),
    _fault(
        "ChildNameTaken",
        "An object that is not this model's has the name of one of its children.",
        "Rename or delete that object, or recreate the model under another name.",
        permanent=True,
    ),
    _fault(
        "ChildRefused",
        "The API server refuses one of the model's children.",
        "Correct the named field, or the chart's profile where the spec does not have it.",
        permanent=True,
    ),
    _fault(
        "ChildLeaving",
        "A child of the model is being deleted and has not gone yet: a finalizer holds it. What does not need it goes on.",
        "Do what the named finalizer waits for: a claim goes with its last pod, so scale the model to 0 and back. The child is made anew by itself.",
    ),
    _fault(
        "ChildDenied",
        "An admission policy, or a missing right of the operator, stands against one of the model's objects.",
        "Do what is asked for in the spec or the profile, or have the policy or the right changed. It is tried again by itself.",
    ),
    _fault(
        "ApiServerFailed",
        "The API server fails to do what the model needs.",
        "Mend what is named: an admission webhook that does not answer, or the API server itself. It is tried again by itself.",
    ),
    _fault(
        "OperatorFault",
        "The operator met an error of its own while it worked on this model, which changes nothing for pods that serve.",
        "Report it with what the operator's log says of this model. It is tried again by itself, and at each change.",
    ),
    _fault(
        "QuotaExceeded",
        "A ResourceQuota of the namespace allows no further pod.",
        "Raise the quota, lower spec.resources or free what others hold.",
    ),
    _fault(
        "NameConflict",
        "Another model of the namespace already holds one of the names.",
        "Choose another in spec.model.name, spec.model.aliases or spec.lora.adapters, or take it off the other model.",
        permanent=True,
    ),
    # Before the container runs.
    _fault(
        "Unschedulable",
        "No node can take the pod.",
        "Compare the scheduler's words with what the pod asks for (spec.resources.requests, or the profile's), and with the nodes' labels, taints and free resources.",
    ),
    _fault(
        "AcceleratorsUnavailable",
        "All accelerators of the wanted kind are in use.",
        "Free an accelerator, add a node or lower spec.resources or spec.replicas.",
    ),
    _fault(
        "AcceleratorsNeverFit",
        "No node has as many accelerators as one pod asks for.",
        "Lower spec.resources.limits or add a larger node.",
    ),
    _fault(
        "ImagePullFailed",
        "The runtime image cannot be pulled.",
        "Check spec.image or the profile's image, and the node's access to the registry; pull secrets of the namespace are named by the profile's imagePullSecrets or by its default service account.",
    ),
    _fault(
        "OciVolumesUnsupported",
        "This cluster cannot mount an image as a volume, which an oci:// model needs.",
        "Use Kubernetes 1.35 or newer, or switch the feature ImageVolume on, or give the model by another kind of URI.",
        permanent=True,
    ),
    _fault(
        "ContainerConfigInvalid",
        "The kubelet cannot configure the container.",
        "Create the named Secret, ConfigMap or key.",
        permanent=False,
    ),
    _fault(
        "VolumeMountFailed",
        "A volume of the pod cannot be mounted.",
        "Check the named claim or volume.",
    ),
    _fault(
        "ContainerStartFailed",
        "The container runtime cannot start the container.",
        "Check spec.image: it must be an Arriero runtime image for this architecture.",
    ),
    _fault(
        "Evicted",
        "The node evicted the pod.",
        "Ask for the named resource in spec.resources, or give the node more of it.",
    ),
    _fault(
        "NodeLost",
        "The pod's node is shut down, gone, or does not report any more.",
        "Check the named node; the pod is replaced by itself, of a silent node after minutes.",
    ),
    _fault(
        "PodRejected",
        "The node refuses the pod that the scheduler gave it.",
        "Check the node's devices and labels; the next pod is made by itself, more rarely each time.",
    ),
    _fault(
        "SandboxFailed",
        "The node cannot set up the pod's network or sandbox.",
        "Check the node's network plugin and container runtime.",
    ),
    # Reported by the runtime, or read from the container's end.
    _fault(
        "ModelNotFound",
        "The source has no such model.",
        "Correct spec.model.uri; a private repository also looks like this without spec.model.credentials.",
        permanent=True,
    ),
    _fault(
        "RevisionNotFound",
        "The repository has no such branch, tag or commit.",
        "Correct spec.model.revision.",
        permanent=True,
    ),
    _fault(
        "Unauthorized",
        "The source refuses access.",
        "Ask the model's owner for access, and give spec.model.credentials a Secret of an account that has it.",
        permanent=True,
    ),
    _fault(
        "CredentialsInvalid",
        "The source does not know the credentials that it is asked with.",
        "Put valid credentials into the Secret that credentials.secretName names.",
        permanent=True,
    ),
    _fault(
        "CredentialsMissing",
        "The Secret that a source is to be asked with is absent, or lacks a key.",
        "Create the Secret that spec.model.credentials names, with one of the named keys, or remove spec.model.credentials. The pods find it by themselves.",
    ),
    _fault(
        "ModelGated",
        "The model's owner gives it to those alone who have accepted the terms.",
        "Accept the terms on the repository's page with the account of the token, and give spec.model.credentials that token.",
        permanent=True,
    ),
    _fault(
        "SourceUnreachable",
        "The source does not answer.",
        "Check the hub's address (chart value hub.endpoint), DNS, proxy and network policies.",
    ),
    _fault(
        "SourceTlsFailed",
        "No trusted connection to the source can be made.",
        "Put the authority that signed the source's certificate into the key ca.crt of the credentials' Secret, or correct the address.",
    ),
    _fault(
        "ProxyFailed",
        "The forward proxy does not answer, or does not let the request pass.",
        "Check the proxy's address, user and rules: the keys proxy and noProxy of the credentials' Secret, or HTTPS_PROXY and NO_PROXY.",
    ),
    _fault(
        "SourceOffline",
        "The model is not in the cache, and HF_HUB_OFFLINE forbids to ask for it.",
        "Remove HF_HUB_OFFLINE, or use a cache volume that holds the model.",
        permanent=True,
    ),
    _fault(
        "SourceRateLimited",
        "The source refuses further requests for now.",
        "Wait; use a token or a mirror (chart value hub.endpoint) if it lasts.",
    ),
    _fault(
        "DownloadFailed",
        "The transfer from the source failed.",
        "It is tried again; check the source if it lasts.",
    ),
    _fault(
        "DownloadTruncated",
        "The source ends a file before its length.",
        "What came is kept and the rest tried again; check the source or the proxy in front of it if it lasts.",
    ),
    _fault(
        "ChecksumMismatch",
        "A fetched file is not the one that the source's commit holds.",
        "It is fetched anew; check the mirror or proxy in front of the source (chart value hub.endpoint) if it lasts.",
    ),
    _fault(
        "CacheTooSmall",
        "The model does not fit into the cache volume.",
        "Raise spec.cache.emptyDir.sizeLimit, or use nodes with more ephemeral storage.",
    ),
    _fault(
        "CacheUnusable",
        "The cache volume cannot be written.",
        "Use a volume that user or group 65532 may write, and that is not mounted read-only.",
        permanent=True,
    ),
    _fault(
        "ModelIncomplete",
        "The folder lacks files that the engine needs.",
        "Put config.json, the weights and the tokenizer into the folder that spec.model.uri names.",
        permanent=True,
    ),
    _fault(
        "ModelUnsupported",
        "The engine does not know the model's architecture or format.",
        "Use a model that vLLM supports.",
        permanent=True,
    ),
    _fault(
        "WeightsInvalid",
        "The weights cannot be read or do not belong to the model's configuration.",
        "Fetch or convert the model anew.",
        permanent=True,
    ),
    _fault(
        "InvalidArguments",
        "The engine refuses its arguments.",
        "Correct the named argument in spec.engine.",
        permanent=True,
    ),
    _fault(
        "ContextTooLong",
        "The wanted context is longer than the model or its memory allows.",
        "Set spec.engine.maxModelLen to at most the named length.",
        permanent=True,
    ),
    _fault(
        "AcceleratorMemoryTooSmall",
        "The model and its cache do not fit into the accelerator's memory.",
        "Lower spec.engine.maxModelLen or maxNumSeqs, or use larger or more accelerators.",
        permanent=True,
    ),
    _fault(
        "SharedMemoryTooSmall",
        "/dev/shm is too small for the engine.",
        "Raise spec.sharedMemory.",
        permanent=True,
    ),
    _fault("OOMKilled", "The kernel ended the container for its memory.", "Raise spec.resources.limits.memory."),
    _fault(
        "NoUsableAnswer",
        "The engine's first answer is not usable.",
        "Check the weights and their quantization.",
        permanent=True,
    ),
    _fault(
        "EngineDied",
        "The engine ended while it served.",
        "The pod starts anew by itself; see the container's previous log if it repeats.",
    ),
    _fault(
        "EngineHung",
        "The engine made no step while requests were waiting.",
        "The pod starts anew by itself; see the container's previous log if it repeats.",
    ),
    _fault(
        "EngineFailed",
        "The engine did not start, for a cause that Arriero does not know.",
        "See the container's previous log: kubectl logs --previous.",
    ),
    _fault(
        "RuntimeOutdated",
        "Pods run another runtime image than the profile has now.",
        "Set spec.image to the profile's image when the model may restart; until then all is served as before. The chart's value changes.images=OneByOne does it by itself.",
    ),
    _fault(
        "InputsChanged",
        "The profile, or something that the spec refers to, has changed since the pods were made.",
        "Set annotation arriero.dev/retry to a new value to replace the pods when it suits; until then all is served as before. The chart's values changes.profiles and changes.references can do it by themselves.",
    ),
    _fault(
        "ReferenceDeleted",
        "Something that the pods were made of was deleted: they serve on, but a new pod could not start.",
        "Create what is gone again, or correct the field that refers to it.",
    ),
    _fault(
        "NoProgress",
        "The pods of the wanted revision made no progress for spec.rollout.progressDeadlineSeconds.",
        "See the pods' logs and Events; raise spec.rollout.progressDeadlineSeconds if it only takes long.",
    ),
    _fault(
        "RegistrationsInvalid",
        "The runtime cannot use the file of names.",
        "Use a runtime image of the operator's version.",
    ),
    # Of one adapter: the model and its other names serve on.
    _fault(
        "AdapterNotFound",
        "The source has no such adapter, or not that revision of it.",
        "Correct the adapter's uri or revision in spec.lora.adapters; a private repository also looks like this without credentials.",
        permanent=True,
    ),
    _fault(
        "AdapterUnauthorized",
        "The source refuses access to the adapter.",
        "Accept the repository's terms or ask its owner for access, and give the adapter's credentials a Secret of that account.",
        permanent=True,
    ),
    _fault(
        "AdapterCredentialsMissing",
        "The Secret that the adapter's source is to be asked with is absent, or lacks a key.",
        "Create the Secret that the adapter's credentials in spec.lora.adapters name, with one of the named keys. The pods find it by themselves.",
    ),
    _fault(
        "AdapterFetchFailed",
        "The adapter cannot be fetched for now.",
        "It is tried again by itself; check the source and the cache volume if it lasts.",
    ),
    _fault(
        "AdapterInvalid",
        "The adapter's files are missing, broken or of a kind that the engine cannot use.",
        "Save the adapter as a plain LoRA of PEFT: adapter_config.json and adapter_model.safetensors.",
        permanent=True,
    ),
    _fault(
        "AdapterRankTooHigh",
        "The adapter's rank is higher than the pods are made for.",
        "Raise spec.lora.maxRank, which replaces the pods, or use an adapter of a lower rank.",
        permanent=True,
    ),
    _fault(
        "AdapterMismatch",
        "The adapter was made for another base model.",
        "Use an adapter that was trained on the model of spec.model.uri.",
        permanent=True,
    ),
    _fault(
        "AdapterNoCapacity",
        "The pods were not made for adapters, or not for so many.",
        "Set spec.lora, or raise spec.lora.maxLoaded; that replaces the pods.",
        permanent=True,
    ),
    _fault(
        "RuntimeExited",
        "The container ended without saying why.",
        "See the container's previous log: kubectl logs --previous.",
    ),
    _fault(
        "CommitMismatch",
        "Pods of one revision serve different commits.",
        "It mends itself as pods restart; pin spec.model.revision to a commit if it lasts.",
    ),
)

REASONS: Final[dict[str, Reason]] = {reason.name: reason for reason in _ALL}


def reason(name: str) -> Reason:
    """Raises KeyError for a name outside of the catalogue."""
    return REASONS[name]
