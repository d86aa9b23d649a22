"""Who the operator is to the API server: the pod's service account, or a kubeconfig. The same for every client."""

from dataclasses import dataclass
from pathlib import Path

from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config


class CredentialsError(Exception):
    """There are no usable credentials; the text is one line that names the remedy."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a client needs; empty where the kubeconfig does not say it. `server_name` is what the server's certificate
    is to be for, where that is not the host of `server`; `authorization` is the whole header."""

    server: str
    server_name: str
    proxy: str
    ca_path: str
    certificate_path: str
    key_path: str
    verify: bool
    authorization: str


class Credentials:
    """Reads credentials when asked, so that a rotated token is noticed."""

    def __init__(self, kubeconfig: Path | None = None) -> None:
        """Without a kubeconfig the pod's own service account is meant."""
        self._kubeconfig = kubeconfig

    async def load(self) -> Configuration:
        """A client configuration with the credentials as they are now. Raises CredentialsError."""
        configuration = Configuration()
        try:
            if self._kubeconfig is None:
                load_incluster_config(configuration)  # type: ignore[no-untyped-call]
            else:
                await load_kube_config(  # type: ignore[no-untyped-call]
                    str(self._kubeconfig), client_configuration=configuration, persist_config=False
                )
        except (ConfigException, OSError) as error:
            remedy = "run it in a pod with a service account token, or pass --kubeconfig"
            raise CredentialsError(f"no credentials for the API server: {error}: {remedy}") from error
        configuration.client_session_kwargs = {"trust_env": False}
        # Each watch of references holds one for minutes: with a bound they would starve requests and the Lease.
        configuration.connection_pool_maxsize = 0
        return configuration

    async def identity(self) -> Identity:
        """The credentials as they are now. Raises CredentialsError."""
        configuration = await self.load()
        return Identity(
            server=configuration.host,
            server_name=configuration.tls_server_name or "",
            proxy=configuration.proxy or "",
            ca_path=configuration.ssl_ca_cert or "",
            certificate_path=configuration.cert_file or "",
            key_path=configuration.key_file or "",
            verify=configuration.verify_ssl,
            authorization=await authorization(configuration),
        )


async def authorization(configuration: Configuration) -> str:
    """The Authorization header's value, from a token file that is read anew each minute; empty with a certificate."""
    return await configuration.get_api_key_with_prefix("BearerToken") or ""


__all__ = ["Credentials", "CredentialsError", "Identity", "authorization"]
