"""Arguments of the clients; no broker."""

import logging
from pathlib import Path

import pytest

from radarstream.connectors.kafka.clients import (
    broker_errors,
    connection_arguments,
    consumer_arguments,
    open_admin,
    open_consumer,
    open_producer,
    producer_arguments,
)
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.schemas.errors import BrokerError, ConfigurationError
from tests.servers import free_port

CANARY = "canary-2f6d"  # a password that must never be seen


@pytest.fixture
def secured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> KafkaOptions:
    monkeypatch.setenv("KAFKA_TEST_PASSWORD", CANARY)
    authority = tmp_path / "ca.pem"
    authority.write_text("")
    return KafkaOptions(
        bootstrap=f"127.0.0.1:{free_port()}, 127.0.0.1:{free_port()}",
        security="SASL_SSL",
        ca_file=authority,
        username="job",
        password_variable="KAFKA_TEST_PASSWORD",
        request_timeout_s=1.0,
        delivery_timeout_s=2.0,
    )


def test_arguments_of_the_clients(secured: KafkaOptions) -> None:
    arguments = connection_arguments(secured)
    assert len(arguments["bootstrap_servers"]) == 2
    assert arguments["security_protocol"] == "SASL_SSL"
    assert arguments["ssl_check_hostname"] is True
    assert arguments["ssl_cafile"] == str(secured.ca_file)
    assert arguments["ssl_certfile"] is None
    assert arguments["sasl_mechanism"] == "SCRAM-SHA-512"
    assert arguments["sasl_plain_username"] == "job"
    assert arguments["sasl_plain_password"] == CANARY
    options = KafkaOptions(message_bytes=3 * 2**20, compression="none")
    consumer = consumer_arguments(options, "g")
    assert consumer["enable_auto_commit"] is False
    assert consumer["auto_offset_reset"] == "earliest"
    assert consumer["isolation_level"] == "read_committed"
    assert consumer["allow_auto_create_topics"] is False
    assert consumer["max_poll_interval_ms"] >= 20 * 60_000
    producer = producer_arguments(options)
    assert (producer["acks"], producer["enable_idempotence"]) == ("all", True)
    assert producer["compression_type"] is None
    # A dead letter holds the largest snapshot in base64.
    assert producer["max_request_size"] >= 4 * 2**20
    assert consumer["receive_message_max_bytes"] > producer["max_request_size"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"ca_file": Path("/nowhere/ca.pem")}, "ca_file"),
        ({"username": ""}, "username"),
        ({"password_variable": "KAFKA_UNSET"}, "KAFKA_UNSET"),
    ],
)
def test_what_is_missing_is_named(secured, given, named):
    with pytest.raises(ConfigurationError, match=named):
        connection_arguments(secured.model_copy(update=given))


@pytest.mark.parametrize("kind", ["consumer", "producer", "admin"])
def test_the_password_is_never_shown(secured, caplog, kind):
    caplog.set_level(logging.DEBUG)  # of the root: kafka's own stays above everything it logs
    with pytest.raises(BrokerError) as caught:
        if kind == "consumer":
            open_consumer(secured, group="g")
        else:
            (open_producer if kind == "producer" else open_admin)(secured)
    shown = [str(caught.value), repr(caught.value), str(caught.value.__cause__), caplog.text]
    assert not any(CANARY in text for text in [*shown, repr(secured), secured.model_dump_json()])


def test_errors_of_the_client_become_ours() -> None:
    from kafka.errors import KafkaTimeoutError, TopicAuthorizationFailedError

    with pytest.raises(BrokerError, match="cannot read x: .*late"), broker_errors("read x"):
        raise KafkaTimeoutError("late")
    with pytest.raises(ConfigurationError), broker_errors("read x"):
        raise TopicAuthorizationFailedError("x")
