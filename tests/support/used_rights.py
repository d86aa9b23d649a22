"""Which of the chart's rights operators have used over a whole run of the suite, by the API servers' audit logs.

Each worker writes down what its control plane has seen; at the end of a run that left no test of the operator out, a
right that nothing has used fails the run by name.
"""

import json
import re
from pathlib import Path
from typing import Final

from arriero_operator.startup import rights
from tests.support.audit import AuditLog

Used = set[tuple[str, str, str]]
"""Rights as (group, resource or resource/subresource, verb)."""

_OPERATOR: Final = re.compile(r"system:serviceaccount:[^:]+:arriero(-[a-z]+)?")
_FILE: Final = "used-rights-{}.json"


def write_down(audit_log: Path, folder: Path, worker: str) -> None:
    """Keep in `folder` what the operators of one control plane have used."""
    used: Used = set()
    for path in audit_log.parent.glob(f"{audit_log.stem}*{audit_log.suffix}"):  # those that were rotated too
        log = AuditLog(path, 0)
        for user in {one.user for one in log.requests() if _OPERATOR.fullmatch(one.user)}:
            used |= log.rights(user)
    (folder / _FILE.format(worker)).write_text(json.dumps(sorted(used)))


def collected(folder: Path) -> Used:
    """What all workers have written down."""
    files = folder.glob(_FILE.format("*"))
    return {tuple(right) for file in files for right in json.loads(file.read_text())}


def unused(used: Used) -> list[str]:
    """The rights that the chart grants by default and nothing has used, in words."""
    return sorted(
        str(right)
        for right in rights(("any",), "any")
        if (right.group, "/".join(filter(None, (right.resource, right.subresource))), right.verb) not in used
    )
