"""`radarstream doctor` changes nothing, and what it advises is true."""

import json
import os
import socket
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import func, inspect, select, text
from typer.testing import CliRunner

from radarstream.connectors.kafka.clients import open_admin
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.connectors.state_table.database.tables import METADATA
from radarstream.pipelines import build
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.cli.doctor import models
from radarstream.pipelines.settings import load_settings
from tests.postgresql import POSTGRESQL
from tests.servers import free_port

Checks = dict[str, dict[str, Any]]


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of this machine: no keys, no model cache, a directory of its own."""
    for name in ("OPENAI_API_KEY", "SERPAPI_KEY", "HF_HOME", "KAFKA_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    build._engine.cache_clear()


def config_of(tmp_path: Path, url: str, *lines: str, profile: str = "scripted") -> Path:
    file = tmp_path / "job file.toml"  # a name that a shell would split
    nobody = f'[kafka]\nbootstrap = "127.0.0.1:{free_port()}"\nrequest_timeout_s = 1'
    kafka = [] if any("[kafka]" in line for line in lines) else [nobody]
    head = [f'profile = "{profile}"', f'database = "{url}"']
    file.write_text("\n".join([*head, *kafka, *lines, '[telemetry]\nlisten = ""\n']))
    return file


def examined(config: Path) -> Checks:
    done = CliRunner().invoke(app, ["doctor", "--config", str(config), "--json"])
    assert done.exit_code in (0, 1), (done.output, done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert done.exit_code == any(check["ok"] is False for check in checks.values())
    assert {"settings", "database", "relations"} <= checks.keys()
    return checks


def content(url: str) -> dict[str, int]:
    """The tables and how many rows each has."""
    engine = open_engine(url, migrate=False)
    with engine.connect() as connection:
        names = inspect(connection).get_table_names()
        known = {name: METADATA.tables.get(name) for name in names}
        counted = {
            name: connection.execute(
                select(func.count()).select_from(text(name) if table is None else table)
            ).scalar_one()
            for name, table in known.items()
        }
    engine.dispose()
    return counted


def files_in(directory: Path) -> dict[str, str]:
    files = [file for file in directory.rglob("*") if file.is_file()]
    return {str(file): sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_database_with_nothing_in_it_stays_so(state_url: str, tmp_path: Path) -> None:
    config = config_of(tmp_path, state_url)
    before = files_in(tmp_path)
    checks = examined(config)
    assert files_in(tmp_path) == before
    check = checks["database"]
    assert check["ok"]
    if state_url.startswith("postgresql"):
        assert content(state_url) == {}
        assert "the first run makes the tables" in check["found"]
    else:
        assert "is not there yet" in check["found"]
    assert checks["generator"]["ok"]


def test_a_filled_database_is_only_read_beside_its_writer_too(state_url: str, tmp_path) -> None:
    open_engine(state_url).dispose()
    before = content(state_url), files_in(tmp_path)
    checks = examined(config_of(tmp_path, state_url))
    (tmp_path / "job file.toml").unlink()
    assert (content(state_url), files_in(tmp_path)) == before, "not even a cached answer"
    assert checks["database"]["ok"]
    assert checks["database"]["found"].endswith(f"schema {HEAD}")
    writer = open_engine(state_url)
    with writer.begin() as connection:
        connection.execute(text("INSERT INTO search_credits VALUES ('2025-06', 1)"))
        assert examined(config_of(tmp_path, state_url))["database"]["ok"]
    writer.dispose()


def test_a_database_of_another_release_is_told_and_left(state_url: str, tmp_path: Path) -> None:
    def version(statement: str) -> str:
        engine = open_engine(state_url, migrate=False)
        with engine.begin() as connection:
            connection.execute(text(statement))
            found = connection.execute(text("SELECT version_num FROM alembic_version"))
            told = str(found.scalar_one())
        engine.dispose()
        return told

    open_engine(state_url).dispose()
    config = config_of(tmp_path, state_url)
    for stored in ("0005", "9999"):
        version(f"UPDATE alembic_version SET version_num = '{stored}'")
        check = examined(config)["database"]
        assert version("SELECT 1") == stored
        assert not check["ok"]
        assert "use that release, or name another database" in check["remedy"]


@pytest.mark.parametrize("state_url", [POSTGRESQL], indirect=True)
def test_a_user_who_may_make_no_tables_is_sent_to_an_administrator(state_url, tmp_path):
    with psycopg.connect(state_url, autocommit=True) as admin:
        admin.execute("CREATE ROLE reader LOGIN")
        admin.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    theirs = state_url.replace("postgres@", "reader@")
    config = config_of(tmp_path, theirs)
    check = examined(config)["database"]
    assert not check["ok"]
    assert f"radarstream state migrate --sql --config '{config}'" in check["remedy"]
    open_engine(state_url).dispose()
    check = examined(config)["database"]
    assert "administrator grant" in check["remedy"]
    assert "--sql" not in check["found"]
    with psycopg.connect(state_url, autocommit=True) as admin:
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    check = examined(config)["database"]
    assert (check["ok"], "may not write" in check["found"]) == (False, True)
    assert "INSERT" in check["remedy"]


def test_a_database_that_cannot_be_used_is_told_why(tmp_path):
    for url, found, remedy in [
        ("postgresql://x@127.0.0.1:{port}/x", "cannot reach", "start the server"),
        ("postgresql://x@/x?host=/nowhere", "cannot reach", "start the server"),
        ("sqlite:///{file}", "cannot read", "restore the file from a backup"),
        ("sqlite:///{file}/below/state.db", "cannot be made there", "a writable place"),
        ("mysql://x@127.0.0.1/x", "no state database of kind", "correct `database`"),
    ]:
        junk = tmp_path / "junk"
        junk.write_bytes(b"this is no database" * 300)
        given = url.format(port=free_port(), file=junk)
        check = examined(config_of(tmp_path, given))["database"]
        assert not check["ok"]
        assert found in check["found"]
        assert remedy in check["remedy"]


def test_missing_keys_and_services_are_named(tmp_path: Path, monkeypatch) -> None:
    offline = '[embedder]\nkind = "scripted"\n[relations]\nkind = "scripted"'
    url = f"sqlite:///{tmp_path}/state.db"
    checks = examined(config_of(tmp_path, url, offline, profile="api"))
    assert checks["service"]["found"] == "the environment variable OPENAI_API_KEY is not set"
    assert checks["service"]["remedy"] == "export OPENAI_API_KEY=…"
    assert "generator" not in checks, "the same would be said again"
    assert checks["relations"]["ok"] and "embedder" not in checks, "nothing asks for embeddings"
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    service = (
        f'[generator]\nbase_url = "http://127.0.0.1:{free_port()}/v1"\nattempts = 1\n'
        '[embedder]\nkind = "scripted"\n[relations]\nkind = "scripted"'
    )
    config = config_of(tmp_path, f"sqlite:///{tmp_path}/s.db", service, profile="api")
    assert "start the service" in examined(config)["service"]["remedy"]


def test_a_missing_hub_model_names_its_download(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    model = "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"
    relations = {"kind": "cross_encoder", "model": model}
    settings = load_settings(
        profile="scripted",
        relations=relations,
        embedder={"kind": "sentence_transformers", "model": "/nowhere/model"},
        defense={"name": "radar"},
    )
    remedies = {check.name: check.remedy for check in models(settings) if not check.ok}
    assert remedies["relations"] == f"hf download {model}"
    assert "section `embedder`" in remedies["embedder"]


def test_no_topic_is_made_and_the_command_names_the_file(own_broker, tmp_path):
    options = own_broker.options()
    kafka = f'[kafka]\nbootstrap = "{options.bootstrap}"'
    config = config_of(tmp_path, f"sqlite:///{tmp_path}/state.db", kafka)
    for _ in range(2):
        check = examined(config)["topics"]
        assert not check["ok"]
        assert check["remedy"] == f"radarstream topics create --config '{config}'"
    admin = open_admin(options)
    assert not [name for name in admin.list_topics() if not name.startswith("__")]
    admin.close()
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(os.environ, "RADARSTREAM_KAFKA__BOOTSTRAP", options.bootstrap)
        patched.setitem(os.environ, "RADARSTREAM_PROFILE", "scripted")
        said = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    (remedy,) = [check["remedy"] for check in said if check["name"] == "topics"]
    assert remedy == "radarstream topics create"


def test_a_missing_password_of_the_broker_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        address = f'[kafka]\nbootstrap = "127.0.0.1:{broker.getsockname()[1]}"\n'
        kafka = address + 'security = "SASL_PLAINTEXT"\nusername = "u"'
        check = examined(config_of(tmp_path, f"sqlite:///{tmp_path}/s.db", kafka))["broker"]
    assert (check["ok"], check["remedy"]) == (False, "export KAFKA_PASSWORD=…")
