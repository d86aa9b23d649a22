"""Of the comparison that ends a whole run of the suite: rights of the chart with those that operators have used."""

import json
from pathlib import Path

import pytest

from arriero_operator.configuration.limits import Reads
from arriero_operator.process.rights import rights
from tests.support import used_rights
from tests.support.used_rights import Account, collected, wrong

USER = "system:serviceaccount:team:arriero"


def line(verb: str, resource: str, *, group: str = "", user: str = USER, allowed: bool = True, code: int = 200) -> str:
    """One line of an audit log."""
    what, _, subresource = resource.partition("/")
    found = {"apiGroup": group, "resource": what, "subresource": subresource, "namespace": "team", "name": "x"}
    decision = {"authorization.k8s.io/decision": "allow" if allowed else "forbid"}
    status = {"code": code if allowed else 403}
    whole = {"verb": verb, "user": {"username": user}, "objectRef": found, "responseStatus": status}
    return json.dumps(whole | {"annotations": decision}) + "\n"


def everything() -> list[str]:
    """A use of each right."""
    return [
        line(one.verb, f"{one.resource}/{one.subresource}".rstrip("/"), group=one.group)
        for one in rights(("team",), "team", Reads(secrets=True, classes=True))
    ]


def seen(folder: Path, *workers: list[str]) -> Account:
    """What comes of the logs of these workers."""
    for number, lines in enumerate(workers):
        log = folder / f"{number}" / "audit.log"
        log.parent.mkdir()
        log.write_text("".join(lines))
        used_rights.write_down(log, folder, f"gw{number}")
    return collected([folder])


def test_rights_that_all_workers_together_have_used_are_right(tmp_path: Path) -> None:
    lines = everything()
    assert wrong(seen(tmp_path, lines[::2], lines[1::2])) == []


def test_a_right_that_nothing_has_used_is_named_those_behind_switches_too(tmp_path: Path) -> None:
    unused = ("delete services", "watch secrets")
    lines = [one for one in everything() if not any(all(f'"{word}"' in one for word in two.split()) for two in unused)]
    found = seen(tmp_path, lines, [line("delete", "services", user="system:serviceaccount:team:somebody")])
    assert wrong(found) == [f"granted, and used by nothing: {two} in namespace any" for two in unused]


def test_what_was_refused_or_is_not_the_charts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(used_rights, "_barred", set())
    used_rights.bar("barred")
    more = [
        line("list", "nodes"),
        line("get", "secrets", allowed=False),
        line("watch", "pods", user="system:serviceaccount:barred:arriero", allowed=False),
        line("create", "pods/exec", code=403),
    ]
    assert wrong(seen(tmp_path, everything(), more)) == [
        f"refused: get secrets x in team for {USER}",
        "used, and not the chart's:  nodes list",
        "used, and not the chart's:  pods/exec create",
    ]


def test_what_the_same_account_was_allowed_at_another_time_is_no_right_that_it_lacks(tmp_path: Path) -> None:
    early = line("get", "leases", group="coordination.k8s.io", allowed=False)
    assert wrong(seen(tmp_path, [early, *everything()])) == []


def test_what_a_cluster_has_seen_before_the_tests_began_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(line("list", "nodes"))
    begun = log.stat().st_size
    with log.open("a") as file:
        file.write(line("list", "pods"))
    used_rights.write_down(log, tmp_path, "node", begun)
    assert collected([tmp_path]).used == {("", "pods", "list")}
