"""Where things are in a model pod: ports, paths and bounds that operator and runtime both rely on."""

from typing import Final

CONTAINER: Final = "runtime"

SERVE_PORT: Final = 8080
"""The model's HTTP API."""
CONTROL_PORT: Final = 8081
"""/livez, /readyz, /status, /metrics of the supervisor. Read-only."""

REGISTRATIONS_DIR: Final = "/etc/arriero/registrations"
REGISTRATIONS_FILE: Final = "registrations.json"
CACHE_DIR: Final = "/var/cache/arriero"
"""Writable: fetched models and the engine's compile caches."""
STATE_DIR: Final = "/var/lib/arriero"
"""Writable, lives as long as the pod: remembers a failure that a retry cannot mend."""
CACHE_LIMIT_VARIABLE: Final = "ARRIERO_CACHE_LIMIT_BYTES"
"""The cache volume's size limit, which a pod cannot see by itself; absent where there is none."""
RESOURCE_VARIABLE: Final = "ARRIERO_RESOURCE"
"""Name of the InferenceModel: the names that are served may be others."""
CLAIM_DIR: Final = "/mnt/model"
"""Where the claim of a pvc:// model, or the image of an oci:// one, is mounted, read-only."""
CREDENTIALS_DIR: Final = "/etc/arriero/credentials"
"""A folder for each Secret that a source is asked with, named like the Secret: a file for each key. Read-only."""
CHAT_TEMPLATE_FILE: Final = "/etc/arriero/chat-template/chat-template.jinja"
"""Where spec.engine.chatTemplate is mounted."""
API_KEY_FILE: Final = "/etc/arriero/api-key/key"
"""Where the key of spec.serving.apiKey is mounted; its content changes when the Secret does."""
TERMINATION_LOG: Final = "/dev/termination-log"
TERMINATION_LOG_BYTES: Final = 4096
"""Kubernetes keeps no more of it."""

ENDPOINT_DELAY_SECONDS: Final = 10
"""From not ready until every client's view of the endpoints has followed: requests are accepted so long."""
ENGINE_STOP_SECONDS: Final = 15
GRACE_MARGIN_SECONDS: Final = 5


NO_PARSER: Final = "none"
"""The name that switches a parser of tool calls or reasoning off."""
CHAT_FORMATS: Final = ("Template", "LlamaStack")
"""By what chats become prompts: the model's own chat template (the default), or Llama Stack's formats."""


def grace_period_seconds(drain_seconds: int) -> int:
    """terminationGracePeriodSeconds of a pod that drains for up to `drain_seconds`."""
    return ENDPOINT_DELAY_SECONDS + drain_seconds + ENGINE_STOP_SECONDS + GRACE_MARGIN_SECONDS
