"""`radarstream evaluate [KIND]`: studies, of defences unless another kind is named."""

from collections.abc import Callable
from typing import Any, Final

import typer

from radarstream.lab.cli.claims import evaluate_claims
from radarstream.lab.cli.kinds import KINDS, KindOptions
from radarstream.lab.cli.studies import StudyOptions
from radarstream.lab.pages.studies import Display
from radarstream.lab.study.harness import REPORT, RESULTS, STATE, TABLES
from radarstream.lab.study.record import RECORD
from radarstream.pipelines.cli.commands import Commands, with_options

CLAIMS: Final = "claims"
FILES: Final = (
    f"OUT receives {REPORT}, {TABLES}, {RESULTS}, {RECORD} (provenance), {STATE} (answers of the "
    "models) and {files}. The same command continues where it was interrupted; more methods and "
    "conditions may be added later."
)


def command(options: type[KindOptions], display: Display[Any]) -> Callable[..., None]:
    """The command of a kind of study."""

    def evaluate(*, own: KindOptions, run: StudyOptions) -> None:
        run.perform(own, display)

    files = ", ".join(display.files.values())
    evaluate.__doc__ = f"{options.__doc__}\n\n{FILES.format(files=files)}"
    evaluate.__annotations__["own"] = options
    return with_options(evaluate)


class Group(Commands):
    """The kinds of studies, the first of them where none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the kind."""
        named = args and args[0] in (*KINDS, CLAIMS, "--help")
        return super().parse_args(ctx, args if named else [next(iter(KINDS)), *args])


app = typer.Typer(help="Compare defences (or retrieval, attribution, service) under attacks.")
for name, kind in KINDS.items():
    app.command(name)(command(*kind))
app.command(CLAIMS)(with_options(evaluate_claims))
