"""The four programs that are a control plane, and how each is called."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.api import Api
from tests.cluster.certificates import Authority, Pair
from tests.cluster.endpoints import LOOPBACK, Endpoints
from tests.cluster.kubeconfigs import write_kubeconfig
from tests.cluster.processes import Configuration, Records
from tests.cluster.waiting import until

SERVICE_CIDR = "198.19.0.0/16"  # room for a Service of each of some thousand models
API_SERVICE_ADDRESS = "198.19.0.1"
NAMES = ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")  # in the order of ending
_READY_SECONDS = 60
# One of each, on loopback: no election, no port, and no brake on requests (which costs 5 s at the start).
_ALONE = ("--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000")
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata"}],
}


@dataclass(frozen=True)
class Components:
    """etcd, API server, controller manager and scheduler in one state folder."""

    name: str
    folder: Path
    kube: Path
    endpoints: Endpoints
    records: Records

    @property
    def authority(self) -> Authority:
        """Signs for this control plane."""
        return Authority(self.folder / "certificates")

    @property
    def admin(self) -> Pair:
        """The certificate of the person and the tests, who may do everything."""
        return self.authority.client("admin", "admin", "system:masters")

    @property
    def api(self) -> Api:
        """A client with the admin's rights."""
        return Api(self.endpoints.server, self.authority, self.admin)

    @property
    def audit_log(self) -> Path:
        """One JSON object a line for each finished request: user, verb, object, response code."""
        return self.folder / "audit.log"

    def kubeconfig(self, name: str, user: str, group: str = "") -> Path:
        """A kubeconfig for `user`, written to the state folder."""
        pair = self.authority.client(name, user, group)
        path = self.folder / "kubeconfigs" / f"{name}.json"
        return write_kubeconfig(path, self.endpoints.server, self.authority, pair, self.name)

    def keep(self, extra: tuple[str, ...] = ()) -> None:
        """Start what does not run and wait until the API server is ready; `extra` are flags for it.

        Pods can be made once `settle` has returned.
        """
        self.records.keep("etcd", self._etcd())
        policy = Configuration(self.folder / "audit-policy.json", json.dumps(_AUDIT_POLICY))
        self.records.keep("kube-apiserver", [*self._apiserver(policy.path), *extra], policy)
        until(self._api_ready, _READY_SECONDS, "the API server is ready")
        self.records.keep("kube-controller-manager", self._controller_manager())
        self.records.keep("kube-scheduler", self._scheduler())

    def settle(self) -> None:
        """Wait until the controllers have made what every pod needs: the default service account."""
        until(self._defaults_there, _READY_SECONDS, "the controllers have made the default service account")

    def _api_ready(self) -> bool:
        self.records.require("etcd")
        self.records.require("kube-apiserver")
        return self.api.ready()

    def _defaults_there(self) -> bool:
        self.records.require("kube-controller-manager")
        self.records.require("kube-scheduler")
        return self.api.find("/api/v1/namespaces/default/serviceaccounts/default") is not None

    def _binary(self, name: str) -> str:
        return str(self.kube / name)

    def _etcd(self) -> list[str]:
        return [
            self._binary("etcd"),
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--listen-client-urls={self.endpoints.etcd}",
            f"--advertise-client-urls={self.endpoints.etcd}",
            f"--listen-peer-urls={self.endpoints.peer}",
            f"--initial-advertise-peer-urls={self.endpoints.peer}",
            f"--initial-cluster=default={self.endpoints.peer}",
        ]

    def _apiserver(self, policy: Path) -> list[str]:
        host = self.endpoints.host
        service = "kubernetes.default.svc"
        names = ("kubernetes", "kubernetes.default", service, f"{service}.cluster.local", "localhost")
        serving = self.authority.server("kube-apiserver", (*names, API_SERVICE_ADDRESS, LOOPBACK, host))
        accounts = self.authority.service_account_key()
        return [
            self._binary("kube-apiserver"),
            f"--bind-address={host}",
            f"--secure-port={self.endpoints.api_port}",
            f"--advertise-address={host}",
            f"--etcd-servers={self.endpoints.etcd}",
            f"--client-ca-file={self.authority.certificate}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--service-account-key-file={accounts.certificate}",
            f"--service-account-signing-key-file={accounts.key}",
            f"--service-account-issuer=https://{service}.cluster.local",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-maxsize=500",  # MB: enough for any test, and no full disk under a cluster that stays
            "--audit-log-maxbackup=1",
            "--profiling=false",
        ]

    def _controller_manager(self) -> list[str]:
        user = "system:kube-controller-manager"
        return [
            self._binary("kube-controller-manager"),
            f"--kubeconfig={self.kubeconfig('kube-controller-manager', user)}",
            f"--service-account-private-key-file={self.authority.service_account_key().key}",
            f"--root-ca-file={self.authority.certificate}",
            "--use-service-account-credentials",
            "--horizontal-pod-autoscaler-sync-period=1s",  # 15 s would be most of a test's time
            *_ALONE,
        ]

    def _scheduler(self) -> list[str]:
        return [
            self._binary("kube-scheduler"),
            f"--kubeconfig={self.kubeconfig('kube-scheduler', 'system:kube-scheduler')}",
            *_ALONE,
        ]
