"""Defences against attacks on a data set, as `radarstream evaluate` does it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from radarstream.library.parameters import chosen, settings_with
from radarstream.pipelines.evaluation.datasets import load_dataset
from radarstream.pipelines.evaluation.defences.records import DefencesRequest
from radarstream.pipelines.evaluation.defences.request import (
    conditions_of,
    contenders_of,
    plugin_of,
)
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard
from radarstream.pipelines.evaluation.halves import Half
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.evaluation.study.harness import REPORT, kept_in, opened
from radarstream.pipelines.pages.defences.page import DEFENCES
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
    defenses, attacks, positions, adaptations, k, half, limit, seed, score
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
        score: Definition | str = Definition.WHOLE_WORDS,
        model: str | None = None,
        base_url: str | None = None,
        profile: str | None = None,
        settings: Settings | str | Path | None = None,
    ) -> None:
        self.out = Path(out)
        flags = chosen(model, base_url, None, profile)
        self.settings = kept_in(self.out, settings_with(settings, flags))
        data = load_dataset([Path(file) for file in dataset], self.settings.limits)
        conditions = conditions_of([*attacks], [str(place) for place in positions], [], "", k)
        self.request = DefencesRequest(
            dataset=data,
            conditions=conditions,
            contenders=contenders_of(data, self.settings.defense, defenses, [*adaptations]),
            k=k,
            half=Half(half),
            limit=limit,
            seed=seed,
            surface=conditions[-1].surface.value,
            definition=Definition(score),
            command="radarstream.Study",
        )
        self.insisted = defenses
        self.table: pl.DataFrame | None = None
        self.board: Scoreboard | None = None
        self.report: Path | None = None

    def run(self, *, resume: bool = True) -> "pl.DataFrame":
        """Do what is not yet done, write the report, and return the table of answers.

        Raises ConfigurationError where the directory holds another study.
        """
        plugin = plugin_of(self.request, self.settings, insisted=self.insisted)
        with opened(plugin, plugin.models, self.out, resume=resume) as study:
            study.run()
            found = DEFENCES.report(self.out, study.record, study.store)
        self.board, self.table, self.report = found.results, found.frame, self.out / REPORT
        return self.table
