"""Options shared by commands, and times as a user types them. A parameter whose type is one of the
dataclasses here stands for its fields, each an option; `commands.py` expands it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, get_args

from typer import Argument, BadParameter, Option

from radarstream.pipelines.cli.terminal import note
from radarstream.pipelines.settings import Profile, Settings, load_settings
from radarstream.pipelines.settings.loading import (
    chosen_model,
    option,
    read_environment,
    read_toml,
    with_served_model,
)
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import MOST_LYING

SPAN = re.compile(r"([0-9]{1,6})([smhd])")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

Config = Annotated[Path | None, Option(metavar="FILE", help="TOML settings file.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Yes = Annotated[bool, Option("--yes", help="Do not ask for confirmation.")]
Once = Annotated[bool, Option("--once", help="Stop when the present input is processed.")]
StartOver = Annotated[
    bool,
    Option(
        "--start-over",
        help="Start although the group has committed offsets that the database does not know.",
    ),
]
TableFile = Annotated[
    Path | None,
    Option("--table", metavar="FILE", help="Also write all answers as .parquet or .csv."),
]
QueryName = Annotated[str, Argument(help="The query's id, or its question.")]
Histories = Annotated[
    list[Path], Argument(help="Snapshots: yearly histories, JSON lines or RealTimeQA weeks.")
]
Attack = Annotated[
    str, Option(help="Attack snapshots first, e.g. 'pia@1:2016,2019; poison@1:every-3'.")
]


@dataclass(frozen=True)
class ModelOptions:
    """Where the settings are, and which models answer."""

    config: Config = None
    profile: Annotated[
        Profile | None,
        Option(
            metavar="PROFILE", help=f"Models to run on, one of: {', '.join(get_args(Profile))}."
        ),
    ] = None
    model: Annotated[
        str | None,
        Option(metavar="NAME", help="Model of an OpenAI-compatible service that answers."),
    ] = None
    base_url: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Address of that service, such as http://127.0.0.1:11434/v1. Without --model it "
            "must have exactly one model.",
        ),
    ] = None

    def settings(self, **flags: Any) -> Settings:
        """Read the settings; `flags` are further ones. A service without a named model is asked for
        its only one. Raises ConfigurationError.
        """
        named = chosen_model(self.model, self.base_url, self.profile)
        if self.base_url is not None and self.model is None:
            layers = (read_toml(self.config) if self.config else {}, read_environment())
            found = with_served_model(named, *layers)
            if found is not named:
                model = found["generator"]["model"]
                note(f"note: {self.base_url} has one model, {model}: it answers")
            named = found
        return load_settings(self.config, **(named | flags))


@dataclass(frozen=True)
class DryModelOptions(ModelOptions):
    """The same for a command that can do without models."""

    dry_run: Annotated[bool, Option("--dry-run", help="Use rules in place of models.")] = False

    def settings(self, **flags: Any) -> Settings:
        """Read the settings; in a dry run rules answer, and no model may be named."""
        if not self.dry_run:
            return super().settings(**flags)
        if self.model is not None or self.base_url is not None:
            raise BadParameter("--dry-run asks no model: leave out --model and --base-url")
        return load_settings(self.config, profile="scripted", **flags)


@dataclass(frozen=True)
class RerankerOptions:
    """Who chooses the documents that a defence sees, and how many."""

    reranker: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Reranker that chooses which documents a defence sees, such as"
            " grada:likeness=dense; '' for none. Default: retrieval.name.",
        ),
    ] = None
    keep: Annotated[
        int | None,
        Option(
            metavar="K",
            min=1,
            help="Most documents of a snapshot that the reranker keeps. Default: retrieval.keep.",
        ),
    ] = None

    def over(self, settings: Settings) -> Settings:
        """Lay what was given over the settings; options of a reranker that they do not name are its
        own, as in `grada:likeness=dense`. Raises ConfigurationError for --keep without one, options
        without values.
        """
        changed: dict[str, Any] = {}
        method, _, rest = (self.reranker or "").partition(":")
        if self.reranker is not None and (rest or method != settings.retrieval.name):
            options = dict(map(option, rest.split(","))) if rest else {}
            changed = {"name": method, "options": options}
        if self.keep is not None:
            if not changed.get("name", settings.retrieval.name):
                raise ConfigurationError("--keep says nothing without a --reranker")
            changed["keep"] = self.keep
        if not changed:
            return settings
        retrieval = settings.retrieval.model_copy(update=changed)
        return settings.model_copy(update={"retrieval": retrieval})


@dataclass(frozen=True)
class RuleOptions:
    """When an answer is given at all."""

    withstand: Annotated[
        int | None,
        Option(
            metavar="W",
            min=0,
            max=MOST_LYING,
            help="How many of the sites that are read may lie: one more must say an answer. "
            "Default: defense.withstand.",
        ),
    ] = None

    def over(self, settings: Settings) -> Settings:
        """Lay what was given over the settings of the defence, its options included."""
        if self.withstand is None:
            return settings
        defense = settings.defense
        options = {name: of for name, of in defense.options.items() if name != "withstand"}
        changed = {"withstand": self.withstand, "options": options}
        return settings.model_copy(update={"defense": defense.model_copy(update=changed)})


def moment(text: str, option: str, now: datetime, also: Sequence[str] = ()) -> datetime:
    """Read a date, a time (UTC unless it says otherwise) or a span before `now` such as 90m or 2d.

    `also` are the other words that the option takes, for the message of the ConfigurationError.

    >>> moment("36h", "--since", datetime(2025, 6, 2, 12, tzinfo=UTC)).isoformat()
    '2025-06-01T00:00:00+00:00'
    """
    span = SPAN.fullmatch(text)
    try:
        if span is not None:
            return now - timedelta(**{UNITS[span[2]]: int(span[1])})
        read = datetime.fromisoformat(text)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        words = "".join(f"{word}, " for word in also) + ("or " if also else "")
        raise ConfigurationError(
            f"{option} must be {words}a time such as 2025-06-01, 2025-06-01T12:00 or 90m, "
            f"got {text!r}"
        ) from None
