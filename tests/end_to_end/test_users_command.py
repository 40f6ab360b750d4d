"""`radarstream users` over a state database."""

import json

import pytest

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.serving.users import user_of_token
from radarstream.schemas.users import Role
from tests.commands import refused, run

pytestmark = pytest.mark.usefixtures("settings_file")
CONFIG = ("--config", "r.toml")


def holder(token: str) -> tuple[str, set[Role]] | None:
    engine = open_engine("sqlite:///state.db")
    user = user_of_token(engine, token)
    engine.dispose()
    return None if user is None else (user.name, set(user.roles))


def test_a_user_from_the_first_token_to_oblivion() -> None:
    added = run("users", "add", "ada", "--role", "ask", "--role", "report", *CONFIG)
    token = added.stdout.strip()
    assert holder(token) == ("ada", {Role.ASK, Role.REPORT})
    run("users", "roles", "ada", "--role", "operate", *CONFIG)
    assert holder(token) == ("ada", {Role.OPERATE})
    rotated = json.loads(run("users", "rotate", "ada", "--json", *CONFIG).stdout)
    assert holder(token) is None
    assert holder(rotated["token"]) == ("ada", {Role.OPERATE})
    listed = run("users", "list", "--json", *CONFIG).stdout
    (told,) = json.loads(listed)["users"]
    assert (told["name"], told["roles"], told["revoked"]) == ("ada", ["operate"], None)
    assert rotated["token"] not in listed
    run("users", "revoke", "ada", "--yes", *CONFIG)
    assert holder(rotated["token"]) is None
    assert "ada" in run("users", "list", *CONFIG).stdout
    gone = run("users", "forget", "ada", "--yes", "--json", *CONFIG)
    assert json.loads(gone.stdout)["deleted"]["users"] == 1
    assert json.loads(run("users", "list", "--json", *CONFIG).stdout) == {"users": []}


def test_what_cannot_be_done_says_why() -> None:
    run("users", "add", "ada", *CONFIG)
    for arguments, told in {
        ("add", "ada"): "a user 'ada' already; `radarstream users rotate ada`",
        ("rotate", "nobody"): "no user",
        ("revoke", "nobody", "--yes"): "no user",
        ("revoke", "ada"): "--yes",
        ("forget", "nobody", "--yes"): "nothing was found",
    }.items():
        code, message = refused("users", *arguments, *CONFIG)
        assert code != 0
        assert told in message
