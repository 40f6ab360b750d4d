"""Replays under attack and studies of defences from Python, as the commands do them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radarstream.connectors.files.directories import hold_directory
from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.lab.attacks.schedule import Schedule
from radarstream.lab.cli.kinds import DefencesOptions
from radarstream.lab.defences.scores import DefenceResults
from radarstream.lab.pages.defences import DEFENCES
from radarstream.lab.replay import Scored, conclude
from radarstream.lab.study.datasets import load_dataset
from radarstream.lab.study.halves import Half
from radarstream.lab.study.harness import REPORT, kept_in, opened
from radarstream.lab.study.kind import Request
from radarstream.library.parameters import chosen, settings_with
from radarstream.pipelines.job.replaying.running import STATE, replayed
from radarstream.pipelines.job.replaying.source import ReplayInput
from radarstream.pipelines.settings import Settings

if TYPE_CHECKING:
    import polars as pl


class Study:
    """Compares defences on one data set, each under the same attacks and on the same evidence.

    Parameters
    ----------
    dataset
        Files of questions with documents and labels; see docs/lab.md.
    out
        Directory of the results. The same study goes on where it was interrupted.
    defenses, attacks, positions, adaptations, k, half, limit, seed
        As the options of `radarstream evaluate`.
    model, base_url, profile, settings
        As for `Guard`.

    Examples
    --------
    >>> study = Study(["questions.json"], out="build/study", limit=20)  # doctest: +SKIP
    >>> study.run()  # doctest: +SKIP
    >>> study.table, study.board, study.report  # doctest: +SKIP
    """

    def __init__(
        self,
        dataset: Sequence[str | Path],
        *,
        out: str | Path,
        defenses: str = "all",
        attacks: Sequence[str] = ("pia", "poison"),
        positions: Sequence[str | int] = (1, 10),
        adaptations: Sequence[str] = ("none",),
        k: int = 10,
        half: Half | str = Half.ALL,
        limit: int | None = None,
        seed: int = 0,
        model: str | None = None,
        base_url: str | None = None,
        profile: str | None = None,
        settings: Settings | str | Path | None = None,
    ) -> None:
        self.out = Path(out)
        flags = chosen(model, base_url, None, profile)
        chosen_settings = kept_in(self.out, settings_with(settings, flags))
        data = load_dataset([Path(file) for file in dataset], chosen_settings.limits)
        self.request = Request(
            dataset=data,
            settings=chosen_settings,
            half=Half(half),
            limit=limit,
            seed=seed,
            command="radarstream.lab.api.Study",
        )
        self.options = DefencesOptions(
            defenses=defenses,
            attacks=",".join(attacks),
            positions=",".join(map(str, positions)),
            adaptations=",".join(adaptations),
            k=k,
            out=self.out,
        )
        self.table: pl.DataFrame | None = None
        self.board: DefenceResults | None = None
        self.report: Path | None = None

    def run(self, *, resume: bool = True) -> "pl.DataFrame":
        """Do what is not yet done, write the report, and return the table of answers. Raises
        ConfigurationError where the directory holds another study.
        """
        with opened(self.options.kind(self.request), self.out, resume=resume) as study:
            study.run()
            found = DEFENCES.report(self.out, study.record, study.store)
        self.board, self.table, self.report = found.results, found.frame, self.out / REPORT
        return self.table


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
        self.attack = Schedule.parse(attack)
        flags: dict[str, Any] = chosen(model, base_url, defense, profile)
        flags["database"] = sqlite_url(self.out / STATE)
        self.settings = settings_with(settings, flags)
        self.report: Path | None = None

    def run(self, *, resume: bool = False) -> Scored:
        """Replay and write the report; `frame` of the results is the table of answers (polars).
        `resume` goes on where an interrupted run of the same replay ended. Raises
        ConfigurationError, ModelError; KeyboardInterrupt when it is interrupted.
        """
        source = ReplayInput(self.files, self.settings.limits, self.attack)
        with hold_directory(self.out):
            results = replayed(self.settings, source, self.out, resume=resume)
            found = conclude(results, (), self.settings, self.out)
        self.report = self.out / REPORT
        return found
