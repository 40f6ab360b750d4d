"""The study of the source ledger: what `radarstream evaluate-sources` runs on the harness.

In every world each contender meets a constant attacker, and one of them false flags.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Final

import polars as pl

from radarstream.pipelines.evaluation.datasets import Dataset, History, digest_of
from radarstream.pipelines.evaluation.sources.playing import Contender, Oracle, Stage
from radarstream.pipelines.evaluation.sources.plays import (
    FLAGS,
    HONEST_DAYS,
    MISTAKEN,
    Attack,
    Flags,
)
from radarstream.pipelines.evaluation.sources.results import Results, answer_table, results_of
from radarstream.pipelines.evaluation.sources.rows import FILES, AnswerRow, AttackRow, FlagRow
from radarstream.pipelines.evaluation.sources.worlds import (
    Campaign,
    World,
    attacked_histories,
    honest_histories,
)
from radarstream.pipelines.evaluation.study import answering_code
from radarstream.pipelines.evaluation.study.harness import Study
from radarstream.pipelines.evaluation.study.plugin import Batch, Request
from radarstream.pipelines.evaluation.study.record import StudyRecord
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.evaluation.study.rows import EVIDENCE_WORK
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.sources import LedgerRules

CODE: Final = (  # what every answer depends on, beside its defence
    *answering_code.SHARED,
    *(f"radarstream.pipelines.evaluation.sources.{name}" for name in ("playing", "plays")),
    "radarstream.connectors.state_table.sources.ledger",
)

Play = Attack | Flags


@dataclass(frozen=True, kw_only=True)
class SourcesRecord(StudyRecord):
    """Provenance of a study of the ledger; `priors` are the last run's."""

    KIND: ClassVar[str] = "sources"
    SAME: ClassVar[Mapping[str, str]] = {
        "campaign": "campaign",
        "rules": "rules of the ledger",
        **StudyRecord.SAME,
    }
    MEMBERS: ClassVar[tuple[str, ...]] = ("worlds", "contenders")

    campaign: Campaign
    priors: tuple[float, ...]
    rules: dict[str, float]
    worlds: tuple[str, ...]
    contenders: tuple[Contender, ...]


SourcesStudy = Study[SourcesRecord]


@dataclass(frozen=True, kw_only=True)
class SourcesRequest(Request):
    """Which worlds are played with which weights of the ledger.

    `dataset` holds the attacked histories of all worlds, `k` is the largest of theirs.
    """

    worlds: tuple[World, ...]
    campaign: Campaign
    priors: tuple[float, ...]

    @staticmethod
    def of(
        worlds: Sequence[World], campaign: Campaign, priors: Sequence[float], command: str = ""
    ) -> "SourcesRequest":
        """The request for simulated histories."""
        histories = tuple(h for world in worlds for h in attacked_histories(world, campaign))
        return SourcesRequest(
            dataset=Dataset("simulated", histories, digest_of(histories)),
            k=max(world.k for world in worlds),
            seed=campaign.seed,
            command=command,
            worlds=tuple(worlds),
            campaign=campaign,
            priors=tuple(priors),
        )

    def plays(self) -> list[Play]:
        """All plays: world by world the attacked ones, then the false flags.

        A ledger is attacked with an exact and with a mistaken oracle. The flags are for RADAR with
        the last prior.
        """
        seed = self.campaign.seed
        found: list[Play] = []
        for world in self.worlds:
            for contender in contenders(self.priors):
                shares = (0.0, MISTAKEN) if contender.source_prior else (0.0,)
                found += [Attack(contender, world, Oracle(share, seed)) for share in shares]
            flagged = with_ledger(self.priors[-1])
            found += [Flags(flagged, world, n, days) for days in (0, HONEST_DAYS) for n in FLAGS]
        return found

    def histories(self, play: Play) -> tuple[History, ...]:
        """The histories that a play is about."""
        if isinstance(play, Attack):
            number, size = self.worlds.index(play.world), self.campaign.questions
            return self.dataset.histories[number * size : (number + 1) * size]
        return honest_histories(play.world, self.campaign)


def contenders(priors: Sequence[float]) -> tuple[Contender, ...]:
    """No defence; RADAR without a ledger, with one of each weight, and with one of the last weight
    that also learns.
    """
    last = priors[-1]
    return (
        Contender("vanilla", "vanilla"),
        Contender("radar"),
        *map(with_ledger, dict.fromkeys(priors)),
        Contender(f"radar, prior {last:g}, learning", source_prior=last, learn=True),
    )


def with_ledger(prior: float) -> Contender:
    """RADAR with a ledger of that weight."""
    return Contender(f"radar, prior {prior:g}", source_prior=prior)


@dataclass
class SourcesPlugin:
    """The plug-in: every play, each with a ledger of its own, on evidence gathered once a world."""

    request: SourcesRequest
    settings: Settings
    models: Models

    files = FILES

    def describe(self) -> SourcesRecord:
        """The record of this run alone."""
        request = self.request
        compared = contenders(request.priors)
        return SourcesRecord(
            **request.common(self.models, self.settings),
            campaign=request.campaign,
            priors=request.priors,
            rules=self.settings.sources.model_dump(include=set(LedgerRules.model_fields)),
            worlds=tuple(world.name for world in request.worlds),
            contenders=compared,
            code=code_of(compared),
            asked=tuple(dict.fromkeys(h[0].query.id for h in request.dataset.histories)),
        )

    def code(self, record: SourcesRecord) -> Mapping[str, str | None]:
        """One digest per contender."""
        return code_of(record.contenders)

    def plan(self, study: SourcesStudy) -> Iterator[Batch]:
        """Count the plays that are left and the snapshots that they need, then play."""
        plays = self.request.plays()
        size = self.request.campaign.questions * self.request.campaign.steps
        played = {**study.store.of(AttackRow), **study.store.of(FlagRow)}
        self.left = [p for p in plays if (p.contender.name, p.condition) not in played]
        progress = study.progress
        progress.wanted = len(plays) * size
        progress.answered = (len(plays) - len(self.left)) * size
        stages = {(play.world, type(play)) for play in self.left}
        progress.expected[EVIDENCE_WORK] = len(stages) * size
        for play in self.left:
            progress.expected[play.contender.name] += 1
        return self.work(study)

    def work(self, study: SourcesStudy) -> Iterator[Batch]:
        """Gather the evidence of each world, then play."""
        rules = self.settings.sources
        for (world, kind), group in groupby(self.left, lambda play: (play.world, type(play))):
            plays = list(group)
            what = "attacked" if kind is Attack else "false flags"
            study.progress.doing = f"{world.name}: {what}"
            histories = self.request.histories(plays[0])
            stage = Stage(histories, study.models, self.settings.reading)
            yield Batch(EVIDENCE_WORK, sum(map(len, stage.evidence)))
            for play in plays:
                played, row = play.play(stage, rules)
                yield Batch(play.contender.name, 1, [*played.steps, row])


def frame_of(_: SourcesRecord, store: RowStore) -> pl.DataFrame:
    """The table of all answers."""
    return answer_table(store.of(AnswerRow).values())


def scored(record: SourcesRecord, store: RowStore, frame: pl.DataFrame) -> Results:
    """The results of all plays of a directory, in the order of the record's members."""
    worlds = {name: place for place, name in enumerate(record.worlds)}
    compared = {contender.name: place for place, contender in enumerate(record.contenders)}

    def place(row: AttackRow | FlagRow) -> tuple[int, int]:
        return worlds[row.world], compared[row.contender]

    attacks, flags = store.of(AttackRow).values(), store.of(FlagRow).values()
    return results_of(frame, sorted(attacks, key=place), sorted(flags, key=place))


def code_of(compared: Sequence[Contender]) -> dict[str, str]:
    """One digest per contender, of the code that its answers depend on."""
    return {
        contender.name: answering_code.digest_of((type(contender.build()).__module__, *CODE))
        for contender in compared
    }
