"""`radarstream users`: who may use the service, and what they may do."""

from typing import Annotated, Any

import typer
from typer import Argument, Option

from radarstream.connectors.state_table import forgetting
from radarstream.connectors.state_table.forgetting import compact
from radarstream.connectors.state_table.serving import users
from radarstream.connectors.state_table.serving.users import StoredUser
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.terminal import agree, note, print_table, printed, say
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.shown import one_line
from radarstream.schemas.times import now_ms, stored_time
from radarstream.schemas.users import Role

ROLES = f"A role, once for each: {', '.join(Role)}."
Name = Annotated[str, Argument(help="Name of the user.")]
Roles = Annotated[list[Role], Option("--role", metavar="ROLE", help=ROLES)]

app = typer.Typer(help="Add users of the service, list and revoke them.", no_args_is_help=True)


@app.command()
def add(
    name: Name,
    role: Roles = [Role.ASK],  # noqa: B006 typer copies it
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Add a user and print the token, which nobody can show again.

    Roles: ask (ask questions, read answers), report (complain about an answer), operate (decide
    about incidents, sources and dead letters in the console). None includes another.
    """
    engine = shared_engine(load_settings(config))
    token = users.add_user(engine, name, role, now_ms())
    _print_token(users.checked_name(name), token, as_json=as_json)


@app.command("list")
def list_(config: Config = None, as_json: AsJson = False) -> None:
    """List all users with their roles; no tokens."""
    rows = [_described(user) for user in users.list_users(shared_engine(load_settings(config)))]
    if printed({"users": rows}, as_json):
        return
    names = ("name", "roles", "created", "revoked")
    rows = [row | {"roles": ", ".join(row["roles"])} for row in rows]
    print_table(names, (row.values() for row in rows))


@app.command()
def rotate(name: Name, config: Config = None, as_json: AsJson = False) -> None:
    """Give a user a new token and print it. The old token and all sessions end."""
    token = users.rotate_token(shared_engine(load_settings(config)), name, now_ms())
    _print_token(name, token, as_json=as_json)


@app.command()
def revoke(name: Name, config: Config = None, yes: Yes = False) -> None:
    """Let a user in no more. Trust and spent epsilon stay, until `users add` or `forget`."""
    agree(f"Revoke user {one_line(name)!r}?", f"revoke user {one_line(name)!r}", yes=yes)
    users.revoke_user(shared_engine(load_settings(config)), name, now_ms())
    say(f"{one_line(name)}: revoked")


@app.command()
def roles(name: Name, role: Roles, config: Config = None) -> None:
    """Give a user these roles and no others."""
    users.set_roles(shared_engine(load_settings(config)), name, role, now_ms())
    say(f"{one_line(name)}: {', '.join(sorted(set(role)))}")


@app.command()
def forget(name: Name, config: Config = None, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a user with all traces: token, sessions, trust, questions, spent epsilon.

    Complaints and the action log keep what was said and done, under a random name. Exit code 1 if
    nothing was found.
    """
    quoted = repr(one_line(name))
    agree(f"Delete everything about user {quoted}?", f"delete user {quoted}", yes=yes)
    engine = shared_engine(load_settings(config))
    deleted = forgetting.forget_user(engine, name)
    if not any(deleted.values()):
        raise NotFoundError(f"nothing was found about user {quoted}")
    kept = [*filter(None, [compact(engine)])]
    if printed({"name": name, "deleted": deleted, "kept": kept}, as_json):
        return
    print_table(("of", "rows"), ((of.replace("_", " "), rows) for of, rows in deleted.items()))
    for sentence in kept:
        say(f"not deleted: {sentence}")


def _print_token(name: str, token: str, *, as_json: bool) -> None:
    if printed({"name": name, "token": token}, as_json):
        return
    note(f"token of {one_line(name)}; it is shown this once:")
    say(token)


def _described(user: StoredUser) -> dict[str, Any]:
    revoked = user.revoked_ms
    return {
        "name": user.name,
        "roles": [role for role in Role if role in user.roles],
        "created": stored_time(user.created_ms),
        "revoked": None if revoked is None else stored_time(revoked),
    }
