"""A password over TLS with Apache Kafka: what is taken, what is refused, and the exit codes."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topics import ensure_topics
from tests.brokers import event, read
from tests.commands import refused, run
from tests.engines.secured import VARIABLE, Authority, Right, SecuredNode, secured
from tests.programs import done

pytestmark = pytest.mark.long

__all__ = ["secured"]
PREFIX = "tls."
TRIES = 12


@dataclass
class User:
    """A user's settings file and what is wrong with it."""

    config: Path
    node: SecuredNode

    def configure(
        self, bootstrap: str = "", more: str = "", authority: str = "", patience_s: float = 5.0
    ) -> None:
        self.config.write_text(
            f'profile = "scripted"\ndatabase = "sqlite:///{self.config.parent}/state.db"\n'
            f'[telemetry]\nlisten = ""\n[kafka]\nbootstrap = "{bootstrap or self.node.bootstrap}"\n'
            f'topic_prefix = "{PREFIX}"\nca_file = "{authority or self.node.authority}"\n'
            f"request_timeout_s = {patience_s}\ndelivery_timeout_s = {2 * patience_s}\n"
            "username = 'radarstream'\n" + (more or 'security = "SASL_SSL"')
        )


@pytest.fixture
def user(secured: SecuredNode, tmp_path: Path) -> User:
    options = secured.inside_options(topic_prefix=PREFIX, partitions=1)
    topics = [topic.name for topic in ensure_topics(options)]
    secured.grant(
        [Right(operation, "topic", name) for name in topics for operation in ("Read", "Write")]
        + [Right("Read", "group", PREFIX)]
    )
    made = User(tmp_path / "settings.toml", secured)
    made.configure()
    return made


def test_with_password_and_certificate_records_are_written_and_read(user, secured):
    options: KafkaOptions = secured.options(topic_prefix=PREFIX, group=PREFIX)
    with KafkaSink(options) as sink, KafkaLog(options) as log:
        sink.publish([event("k", b"over TLS")])
        assert read(log, 1)[0].payload == b"over TLS"
        log.commit({0: 1})
    assert "tls.search.snapshots" in run("topics", "describe", "--config", user.config).output


def refusal(user: User) -> tuple[int, str]:
    """The exit code of a command that the broker refuses, and what it says.

    The broker hangs up after its refusal, which the client then may never read: such a command
    ends with 1, as if nobody was there, and is given again.
    """
    for _ in range(TRIES):
        code, said = refused("topics", "describe", "--config", user.config)
        if code != 1:
            break
        assert "cannot reach Kafka" in said
    return code, said


def test_a_wrong_password_is_refused_with_exit_code_2(user, monkeypatch):
    monkeypatch.setenv(VARIABLE, "wrong-canary")
    code, said = refusal(user)
    assert code == 2 and "invalid credentials" in said and "canary" not in said, said
    ended = done("run", "--config", user.config)  # it does not wait for another password
    assert ended.returncode == 2 and "invalid credentials" in ended.stderr
    assert "canary" not in ended.stderr + ended.stdout


def test_a_mechanism_that_the_broker_does_not_offer_is_refused_with_exit_code_2(user: User) -> None:
    user.configure(more='security = "SASL_SSL"\nsasl_mechanism = "PLAIN"')
    code, said = refusal(user)
    assert code == 2 and "UnsupportedSaslMechanism" in said, said


@pytest.mark.parametrize("wrong", ["authority", "name"])
def test_the_certificate_of_another_authority_or_name_is_refused_with_exit_code_2(
    wrong: str, user: User, tmp_path: Path
) -> None:
    if wrong == "authority":
        (tmp_path / "other.pem").write_bytes(Authority().certificate)
        user.configure(authority=str(tmp_path / "other.pem"))
    else:
        user.configure(bootstrap=f"localhost:{user.node.port}")
    code, said = refused("topics", "describe", "--config", user.config)
    assert code == 2 and "certificate verify failed" in said
    assert ("Hostname mismatch" in said) == (wrong == "name")


def test_an_expired_certificate_is_waited_for_like_a_broker_that_is_away(user: User) -> None:
    user.configure(bootstrap=f"127.0.0.1:{user.node.expired}", patience_s=2.0)
    code, said = refused("topics", "describe", "--config", user.config)
    assert code == 1 and "certificate has expired" in said


@pytest.mark.parametrize("security", ["PLAINTEXT", "SASL_PLAINTEXT", "SSL"])
def test_without_tls_or_password_nothing_is_reached(security: str, user: User) -> None:
    user.configure(more=f'security = "{security}"', patience_s=2.0)
    code, said = refused("topics", "describe", "--config", user.config)
    assert code == 1 and "cannot reach Kafka" in said
