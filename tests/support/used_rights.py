"""Which of the chart's rights operators have used over a whole run of the suite, by the API servers' audit logs.

Each worker writes down what its control plane has seen, and the tests of the real node what their cluster has. At the
end of a run that left no test of the operator out, a right that nothing has used fails the run by name, and so does a
request that was refused for want of a right, or one beyond the chart's. The rights behind its switches count too.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from arriero_operator.configuration.limits import Reads
from arriero_operator.process.rights import Right, rights
from tests.support.audit import AuditLog, Request

Used = set[tuple[str, str, str]]
"""Rights as (group, resource or resource/subresource, verb)."""

_OPERATOR: Final = re.compile(r"system:serviceaccount:[^:]+:arriero(-[a-z]+)?")
_FILE: Final = "used-rights-{}.json"
_barred: Final[set[str]] = set()


@dataclass
class Account:
    """What operators have done: rights of which they have made use, and requests that were refused, in words."""

    used: Used = field(default_factory=set)
    refused: set[str] = field(default_factory=set)

    def to_json(self) -> dict[str, Any]:
        """For a file."""
        return {"used": sorted(self.used), "refused": sorted(self.refused)}

    def add(self, found: dict[str, Any]) -> None:
        """What a file says, on top of it."""
        self.used |= {tuple(right) for right in found["used"]}
        self.refused |= set(found["refused"])


def bar(namespace: str) -> None:
    """A test takes rights away from the operator whose account is in this namespace: refusals are meant there."""
    _barred.add(namespace)


def account(log: AuditLog) -> Account:
    """What operators of the chart have done by this log."""
    found = Account()
    requests = [one for one in log.requests() if _OPERATOR.fullmatch(one.user)]
    used = {user: log.rights(user) for user in {one.user for one in requests}}
    found.used = set().union(*used.values())
    for one in requests:
        # Roles come and go with a test's namespace, a moment before or after its operator: what the same account was
        # allowed at another time is no right that it lacks.
        lacks = not one.allowed and (one.group, _what(one), one.verb) not in used[one.user]
        if lacks and one.user.split(":")[2] not in _barred:
            found.refused.add(_words(one))
    return found


def write_down(audit_log: Path, folder: Path, worker: str, start: int = 0) -> None:
    """Keep in `folder` what the operators of one control plane have done; `start` is where its log begins to count."""
    whole = Account()
    for path in audit_log.parent.glob(f"{audit_log.stem}*{audit_log.suffix}"):  # those that were rotated too
        whole.add(account(AuditLog(path, start if path == audit_log else 0)).to_json())
    (folder / _FILE.format(worker)).write_text(json.dumps(whole.to_json()))


def collected(folders: Iterable[Path]) -> Account:
    """What all workers have written down."""
    whole = Account()
    for file in (file for folder in folders for file in folder.glob(_FILE.format("*"))):
        whole.add(json.loads(file.read_text()))
    return whole


def wrong(found: Account) -> list[str]:
    """In words: what is granted and was used by nothing, and what was asked for beyond it."""
    granted = {_right(one): str(one) for one in rights(("any",), "any", Reads(secrets=True, classes=True))}
    unused = [f"granted, and used by nothing: {words}" for right, words in granted.items() if right not in found.used]
    beyond = [f"used, and not the chart's: {' '.join(right)}" for right in found.used - set(granted)]
    return sorted([*unused, *beyond, *(f"refused: {words}" for words in found.refused)])


def _right(one: Right) -> tuple[str, str, str]:
    return (one.group, "/".join(filter(None, (one.resource, one.subresource))), one.verb)


def _what(one: Request) -> str:
    return "/".join(filter(None, (one.resource, one.subresource)))


def _words(one: Request) -> str:
    return f"{one.verb} {_what(one)} {one.name} in {one.namespace or 'all namespaces'} for {one.user}"
