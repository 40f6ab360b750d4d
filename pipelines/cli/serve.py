"""`radarstream serve`: the service that answers questions of users."""

from collections.abc import Iterator
from typing import Annotated

from typer import Option

from radarstream.connectors.state_table.serving.users import list_users
from radarstream.pipelines.build import check_settings, probe_service, shared_engine
from radarstream.pipelines.cli.options import DryModelOptions, RuleOptions
from radarstream.pipelines.cli.terminal import say
from radarstream.pipelines.settings import Settings


def serve(
    *,
    chosen: DryModelOptions,
    rule: RuleOptions,
    listen: Annotated[
        str | None, Option(metavar="HOST:PORT", help="Where to listen. Default: serving.listen.")
    ] = None,
    anonymous: Annotated[
        bool,
        Option(
            "--anonymous",
            help="Let anybody on this machine ask without a token, as serving.anonymous = 'ask'.",
        ),
    ] = False,
) -> None:
    """Answer questions over HTTP until it is stopped.

    Any client of OpenAI's interface may ask at /v1; /openapi.json describes all routes.
    `radarstream users` gives users their tokens. SIGTERM finishes the requests in hand and exits 0.
    """
    serving = {"listen": listen} if listen else {}
    serving |= {"anonymous": "ask"} if anonymous else {}
    settings = rule.over(chosen.settings(**({"serving": serving} if serving else {})))
    check_settings(settings)
    from radarstream.pipelines.serving.app import create_app
    from radarstream.pipelines.serving.server import bound, run_service

    probe_service(settings)  # a refused key or an unknown model ends it here
    engine = shared_engine(settings)
    app, listening = create_app(settings, engine=engine), bound(settings.serving.listen)
    host, port = listening.getsockname()[:2]
    for line in first_steps(f"http://{host}:{port}", settings, users=bool(list_users(engine))):
        say(line)
    run_service(app, listening)


def first_steps(url: str, settings: Settings, *, users: bool) -> Iterator[str]:
    """Where to open the service, and what is to be done before anybody can ask."""
    yield f"open {url}/ in a browser, or ask {url}/v1 with any client of OpenAI's interface"
    if settings.serving.anonymous == "ask":
        yield "anybody on this machine may ask, without a token"
    elif not users:
        yield "nobody can ask yet: radarstream users add NAME --role ask prints a token"
