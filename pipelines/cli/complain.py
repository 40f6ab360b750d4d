"""`radarstream complain`: say that an answer is wrong."""

from typing import Annotated

from typer import Option

from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config, QueryName
from radarstream.pipelines.cli.terminal import print_values, printed, say, system_user
from radarstream.pipelines.job.incidents.intake import report
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError, InputError

STORED = ("incident", "complaint_id", "query_id", "step", "answer", "sender")


def complain(
    query: QueryName,
    answer: Annotated[
        str | None, Option(help="The wrong answer as it was seen; default: the latest.")
    ] = None,
    sender: Annotated[
        str | None, Option(help="Who complains; default: the system's user name.")
    ] = None,
    step: Annotated[
        int | None, Option(min=0, help="Step of the answer; default: the latest.")
    ] = None,
    comment: Annotated[str, Option(help="What is wrong with it.")] = "",
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say that an answer is wrong; `radarstream attribute` then finds out which texts taught it.

    A second complaint about the same answer changes nothing.
    """
    settings = load_settings(config)
    for option, given in (("--answer", answer), ("--sender", sender)):
        if given is not None and not given.strip():
            raise ConfigurationError(f"{option} is empty; leave it out for the default")
    name, engine = system_user("--sender") if sender is None else sender, existing_engine(settings)
    try:
        stored = report(settings, engine, name, query, answer, step, comment)
    except InputError as error:  # a wrong use of the options: exit code 2
        raise ConfigurationError(error.detail) from None
    shown = {field: getattr(stored, field) for field in STORED}
    if printed(shown, as_json):
        return
    print_values(shown)
    if not settings.attribution.enabled:
        say("attribution is off in these settings: [attribution] enabled = true switches it on")
