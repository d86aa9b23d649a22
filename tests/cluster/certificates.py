"""The certificate authority of one cluster and what it signs, as PEM files in one folder."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = datetime.timedelta(days=365)
_Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, as files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    """Signs the certificates of one cluster; everything is made once and found again later."""

    folder: Path

    @property
    def certificate(self) -> Path:
        """The authority's own certificate."""
        return self._pair("ca").certificate

    def service_account_key(self) -> Pair:
        """The key that signs service account tokens; its public half is in the certificate."""
        return self.client("service-accounts", "service-accounts", "arriero")

    def client(self, name: str, user: str, group: str = "") -> Pair:
        """A client certificate for `user` in `group`."""
        return self._issue(name, _subject(user, group), [ExtendedKeyUsageOID.CLIENT_AUTH], ())

    def server(self, name: str, hosts: tuple[str, ...]) -> Pair:
        """A server certificate for the given DNS names and addresses."""
        return self._issue(f"{name}-serving", _subject(name), [ExtendedKeyUsageOID.SERVER_AUTH], hosts)

    def _pair(self, name: str) -> Pair:
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")

    def _root(self) -> tuple[x509.Certificate, _Key]:
        pair = self._pair("ca")
        if not pair.certificate.is_file():
            key = ec.generate_private_key(ec.SECP256R1())
            subject = _subject("arriero-local-cluster")
            builder = _builder(subject, subject, key).add_extension(x509.BasicConstraints(True, None), critical=True)
            _write(pair, builder.sign(key, hashes.SHA256()), key)
        certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
        loaded = serialization.load_pem_private_key(pair.key.read_bytes(), password=None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        return certificate, loaded

    def _issue(self, name: str, subject: x509.Name, usage: list[x509.ObjectIdentifier], hosts: tuple[str, ...]) -> Pair:
        pair = self._pair(name)
        if pair.certificate.is_file():
            return pair
        root, root_key = self._root()
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, root.subject, key).add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        _write(pair, builder.sign(root_key, hashes.SHA256()), key)
        return pair


def _subject(user: str, group: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(attributes)


def _builder(subject: x509.Name, issuer: x509.Name, key: _Key) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _VALID)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(pair: Pair, certificate: x509.Certificate, key: _Key) -> None:
    pair.key.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    pair.key.touch(mode=0o600)
    pair.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    # Last and whole: a certificate that is there has its key.
    unfinished = pair.certificate.with_suffix(".new")
    unfinished.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    unfinished.rename(pair.certificate)
