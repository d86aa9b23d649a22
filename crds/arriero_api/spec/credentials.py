"""As whom a source is asked: spec.model.credentials, and that of each adapter."""

from typing import Annotated, Any, Final

from pydantic import Field

from arriero_api.llama_names import REPOSITORIES
from arriero_api.schema import Schema, matching, rules
from arriero_api.uris import FETCHED, FORMS, PAGE_RULE, PATTERN

_LLAMA: Final = ", ".join(f"'{name}'" for name in REPOSITORIES)
HUB_RULE: Final = f"self.uri.startsWith('hf://') || self.uri in [{_LLAMA}]"
"""A rule of what has a `uri`: it is of the hub."""
FETCHED_RULE: Final = f"self.uri.matches('^({'|'.join(FETCHED)})://') || self.uri in [{_LLAMA}]"
"""A rule of what has a `uri`: it is fetched, maybe with credentials."""


def source(field: str, *others: dict[str, str]) -> dict[str, Any]:
    """The rules of a `uri`; `field` is its name in messages."""
    return rules(
        {
            "rule": f"self.matches(r'{PATTERN}') || self in [{_LLAMA}]",
            "message": f"{field} must be {FORMS} or a name of Llama Stack such as Llama3.2-3B-Instruct",
        },
        {
            "rule": "!self.contains('/../') && !self.endsWith('/..')",
            "message": f"{field} must not leave its volume: remove '..'",
        },
        {"rule": PAGE_RULE["rule"], "message": f"{field} {PAGE_RULE['message']}"},
        *others,
    )


class Credentials(Schema):
    """A Secret of the namespace with what the source asks for; docs/operating.md lists the keys of each scheme."""

    secret_name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=253,
            json_schema_extra=matching(
                "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
                "credentials.secretName must be the name of a Secret: lower-case letters, digits, - and .",
            ),
        ),
    ] = Field(
        description=(
            "Name of a Secret of the namespace. It is mounted into the pods as files, and read anew for each fetch: "
            "changed content needs no restart, another name rolls out new pods."
        )
    )
