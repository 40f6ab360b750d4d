"""`radarstream users` over a state database."""

import json
from pathlib import Path

import pytest

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.serving.users import user_of_token
from radarstream.schemas.users import Role
from tests.commands import refused, run


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "radarstream.toml"
    file.write_text(f'database = "sqlite:///{tmp_path / "state.db"}"\n')
    return file


def holder(tmp_path: Path, token: str) -> tuple[str, set[Role]] | None:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    user = user_of_token(engine, token)
    engine.dispose()
    return None if user is None else (user.name, set(user.roles))


def test_a_user_from_the_first_token_to_oblivion(config: Path, tmp_path: Path) -> None:
    added = run("users", "add", "ada", "--role", "ask", "--role", "report", "--config", config)
    token = added.stdout.strip()
    assert holder(tmp_path, token) == ("ada", {Role.ASK, Role.REPORT})
    run("users", "roles", "ada", "--role", "operate", "--config", config)
    assert holder(tmp_path, token) == ("ada", {Role.OPERATE})
    rotated = json.loads(run("users", "rotate", "ada", "--json", "--config", config).stdout)
    assert holder(tmp_path, token) is None
    assert holder(tmp_path, rotated["token"]) == ("ada", {Role.OPERATE})
    listed = run("users", "list", "--json", "--config", config).stdout
    (told,) = json.loads(listed)["users"]
    assert (told["name"], told["roles"], told["revoked"]) == ("ada", ["operate"], None)
    assert rotated["token"] not in listed
    run("users", "revoke", "ada", "--yes", "--config", config)
    assert holder(tmp_path, rotated["token"]) is None
    assert "ada" in run("users", "list", "--config", config).stdout
    gone = run("users", "forget", "ada", "--yes", "--json", "--config", config)
    assert json.loads(gone.stdout)["deleted"]["users"] == 1
    assert json.loads(run("users", "list", "--json", "--config", config).stdout) == {"users": []}


def test_what_cannot_be_done_says_why(config: Path) -> None:
    run("users", "add", "ada", "--config", config)
    for arguments, told in {
        ("add", "ada"): "already",
        ("rotate", "nobody"): "no user",
        ("revoke", "nobody", "--yes"): "no user",
        ("revoke", "ada"): "--yes",
        ("forget", "nobody", "--yes"): "nothing was found",
    }.items():
        code, message = refused("users", *arguments, "--config", config)
        assert code != 0
        assert told in message
