"""A search history through the pipeline, as `radarstream replay` does it."""

from pathlib import Path
from typing import Any

from radarstream.connectors.files.directory_lock import hold_directory
from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.library.parameters import chosen, settings_with
from radarstream.pipelines.evaluation.attacks.schedule import Schedule
from radarstream.pipelines.evaluation.replay_input import ReplayInput
from radarstream.pipelines.job.replaying.results import STATE, Results, write_report
from radarstream.pipelines.job.replaying.running import replayed
from radarstream.pipelines.settings import Settings


class Replay:
    """Replays files of snapshots, perhaps under attack, into a directory.

    Parameters
    ----------
    files
        Yearly histories, snapshot JSONL or RealTimeQA weeks.
    out
        Directory of the results: events, report, memory, the models' answers.
    attack
        Which snapshots are poisoned first, such as "pia@1:every-4; poison@1:2019".
    model, base_url, defense, profile, settings
        As for `Guard`.

    Examples
    --------
    >>> replay = Replay("history.json", out="build/replay", profile="scripted")
    >>> results = replay.run()  # doctest: +SKIP
    >>> results.frame, results.summary(), replay.report  # doctest: +SKIP
    """

    def __init__(
        self,
        *files: str | Path,
        out: str | Path,
        attack: str = "",
        model: str | None = None,
        base_url: str | None = None,
        defense: str | None = None,
        profile: str | None = None,
        settings: Settings | str | Path | None = None,
    ) -> None:
        self.files = tuple(map(Path, files))
        self.out = Path(out)
        self.schedule = Schedule.parse(attack)
        flags: dict[str, Any] = chosen(model, base_url, defense, profile)
        flags["database"] = sqlite_url(self.out / STATE)
        self.settings = settings_with(settings, flags)
        self.report: Path | None = None

    def run(self, *, resume: bool = False) -> Results:
        """Replay and write the report; `frame` of the results is the table of answers (polars).

        `resume` goes on where an interrupted run of the same replay ended. Raises
        ConfigurationError, ModelError; KeyboardInterrupt when it is interrupted.
        """
        source = ReplayInput(self.files, self.settings.limits, self.schedule)
        with hold_directory(self.out):
            results = replayed(self.settings, source, self.out, resume=resume)
            self.report = write_report(self.out, results)
        return results
