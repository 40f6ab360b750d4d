"""A Kafka node that asks for passwords over TLS and has rights for each user."""

import datetime as dt
import ipaddress
import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

from radarstream.connectors.kafka.clients import open_admin
from radarstream.connectors.kafka.options import KafkaOptions
from tests.clocks import until
from tests.engines.artifacts import missing
from tests.engines.kafka import KafkaNode
from tests.servers import free_port, running

USER, VARIABLE = "radarstream", "KAFKA_PASSWORD"
PRINCIPAL = f"User:{USER}"


@dataclass(frozen=True, order=True)
class Right:
    """What a user may do with a topic, a group or the cluster."""

    operation: str  # as Kafka's tools call it, such as DescribeConfigs
    kind: str  # topic, group, cluster
    name: str

    def __str__(self) -> str:
        return f"{self.operation} {self.name}"

    def acl(self) -> ACL:
        """As Kafka's client takes it."""
        operation = "".join(f"_{c}" if c.isupper() else c.upper() for c in self.operation)
        return ACL(
            PRINCIPAL,
            "*",
            ACLOperation[operation.lstrip("_")],
            ACLPermissionType.ALLOW,
            ResourcePattern(ResourceType[self.kind.upper()], self.name),
        )


class SecuredNode(KafkaNode):
    """A node that takes clients over TLS with a password, and gives them the rights of `grant`.

    `expired` listens with a certificate that has ended, `inside` without either for everything.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.expired, self.inside = free_port(), free_port()
        self.password = secrets.token_hex(12)
        self.certificate, self.authority = directory / "kafka.pem", directory / "ca.pem"

    def properties(self) -> dict[str, str]:
        """Listeners, the node's certificates, SCRAM, and rights for what is named only."""
        kinds = {"CLIENT": "SASL_SSL", "EXPIRED": "SASL_SSL", "INSIDE": "PLAINTEXT"}
        ports = {"CLIENT": self.port, "EXPIRED": self.expired, "INSIDE": self.inside}
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        mapped = ",".join(f"{name}:{kind}" for name, kind in kinds.items())
        controller = f"CONTROLLER://127.0.0.1:{self.voters[self.node]}"
        login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        passwords = {
            f"listener.name.{name}.scram-sha-512.sasl.jaas.config": login
            for name in ("client", "expired")
        }
        ended = "listener.name.expired.ssl.keystore"
        return super().properties() | {
            "listeners": f"{listeners},{controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": f"{mapped},CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificate),
            f"{ended}.type": "PEM",
            f"{ended}.location": str(self.directory / "expired.pem"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            **passwords,
            "auto.create.topics.enable": "false",
        }

    def launch(self) -> None:
        """Make its certificates, then start it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self.certificate.exists():
            authority = Authority()
            self.authority.write_bytes(authority.certificate)
            authority.write(self.certificate, days=1)
            authority.write(self.directory / "expired.pem", days=-1)
        super().launch()

    def format_storage(self, *arguments: str) -> None:
        """Prepare its data directory with one user."""
        user = f"SCRAM-SHA-512=[name={USER},password={self.password}]"
        super().format_storage("--add-scram", user, *arguments)

    def options(self, **given: object) -> KafkaOptions:
        """Settings of a user, whose password is in the environment."""
        secure = {"security": "SASL_SSL", "ca_file": self.authority, "username": USER}
        return super().options(**(secure | {"password_variable": VARIABLE} | given))

    def inside_options(self, **given: object) -> KafkaOptions:
        """Settings of the node itself, which may do everything."""
        plain = {"security": "PLAINTEXT", "ca_file": None, "username": ""}
        options = super().options(**(plain | given))
        return options.model_copy(update={"bootstrap": f"127.0.0.1:{self.inside}"})

    def grant(self, rights: Sequence[Right]) -> None:
        """Give the user these rights and no other, and wait until the node goes by them."""
        with closing(open_admin(self.inside_options())) as admin:
            admin.delete_acls([ACLFilter(PRINCIPAL, *EVERYTHING)])
            wanted = [right.acl() for right in rights]
            if wanted:
                admin.create_acls(wanted)
            until(lambda: granted(admin) == set(wanted))


EVERYTHING = (
    None, ACLOperation.ANY, ACLPermissionType.ANY,
    ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
)  # fmt: skip


def granted(admin: KafkaAdminClient) -> set[ACL]:
    """The rights that the node goes by."""
    found, error = admin.describe_acls(ACLFilter(PRINCIPAL, *EVERYTHING))
    assert not error.errno, error
    return set(found)


class Authority:
    """Signs certificates of 127.0.0.1."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        signed = self._signed(self._name, self._key, days=2, names=[])
        self.certificate = signed.public_bytes(serialization.Encoding.PEM)

    def write(self, file: Path, *, days: int) -> None:
        """Write a key and a certificate that ends in `days`, negative for one that has ended."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kafka")])
        names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        signed = self._signed(name, key, days=days, names=names)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        file.touch(0o600)
        file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))

    def _signed(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        days: int,
        names: list[x509.IPAddress],
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=30))
            .not_valid_after(now + dt.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
        )
        if names:
            alternative = x509.SubjectAlternativeName(names)
            builder = builder.add_extension(alternative, critical=False)
        return builder.sign(self._key, hashes.SHA256())


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    """A secured node that the tests of a module share."""
    if reason := missing("kafka"):
        pytest.skip(reason)
    node = SecuredNode(tmp_path_factory.mktemp("secured"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(VARIABLE, node.password)
        with running(node):
            yield node
