"""A replay as a study: attacked, beside baselines, scored where there are labels, with a report.

`radarstream replay` calls the functions here where the lab is installed.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl

from radarstream.connectors.files.directories import write_whole
from radarstream.lab.attacks.schedule import Schedule
from radarstream.lab.defences.answers import replay_frame
from radarstream.lab.defences.contenders import built, parse_contenders
from radarstream.lab.defences.planted import Point, replay_curves
from radarstream.lab.defences.records import Row
from radarstream.lab.defences.trials import Answered, baseline_rows
from radarstream.lab.files.robust_rag import item_records as item_records
from radarstream.lab.files.weekly_realtimeqa import read_weekly as read_weekly
from radarstream.lab.pages.replay.page import render_report
from radarstream.lab.pages.report import model_card
from radarstream.lab.study.frame import check_table as check_table
from radarstream.lab.study.frame import write_table
from radarstream.lab.study.rows import encode_line, read_lines
from radarstream.lab.study.scoring import DEFENDED, UNDEFENDED
from radarstream.lab.study.specs import Spec, servable
from radarstream.pipelines.build import shared_pipeline
from radarstream.pipelines.job.replaying.record import StageCost
from radarstream.pipelines.job.replaying.running import (
    BASELINES,
    REPORT,
    Note,
    Results,
    read_results,
    write_run,
)
from radarstream.pipelines.settings import ReadingSettings, Settings
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.metering import CallCounts
from radarstream.pipelines.signals.reading import as_read

SIDES = (DEFENDED, UNDEFENDED)
parse_attack = Schedule.parse


@dataclass(frozen=True)
class Scored(Results):
    """The results of a replay with the answers of baselines to the same snapshots."""

    baselines: tuple[Row, ...] = ()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table of answers."""
        return replay_frame(self.answers, self.snapshots, self.baselines)

    @property
    def sides(self) -> tuple[str, ...]:
        """Whose answers there may be: defended, undefended, and the baselines in their order."""
        return (*SIDES, *dict.fromkeys(row.contender for row in self.baselines))

    @cached_property
    def curves(self) -> dict[str, tuple[Point, ...]]:
        """How right, fooled and silent each side is, by the number of sites with planted pages."""
        return replay_curves(self.frame)

    def summary(self) -> dict[str, Any]:
        """The figures as plain values."""
        scores = {name: list(map(asdict, points)) for name, points in self.curves.items()}
        card = {"language_model": model_card(self.run.models)}
        return card | super().summary() | {"scores": scores}


def contenders_of(baselines: str, settings: Settings, note: Note) -> list[Spec]:
    """The baselines of a list that the models can serve; `note` is told of those left out. Raises
    ConfigurationError for those named by themselves that cannot be served.
    """
    wanted = parse_contenders(baselines, settings.defense)
    if not wanted:
        return []
    models = shared_pipeline(settings).models
    kept, left_out = servable(wanted, lambda one: check_needs(built(one), models), baselines)
    for reason in left_out:
        note(f"note: {reason}")
    return list(kept)


def conclude(
    results: Results,
    contenders: Sequence[Spec],
    settings: Settings,
    out: Path,
    table: Path | None = None,
) -> Scored:
    """Let baselines answer, score everything, and write the report and perhaps the table."""
    found = Scored(results.run, results.answers, results.snapshots, results.dead_reasons)
    if contenders:
        found = with_baselines(found, contenders, settings, out)
    write_report(out, found)
    if table is not None:
        write_table(found.frame, table)
    return found


def with_baselines(
    results: Scored, contenders: Sequence[Spec], settings: Settings, out: Path
) -> Scored:
    """The results with the answers of baselines to the snapshots that were answered, which are also
    written down. What they cost is one more stage of the run.
    """
    generator = shared_pipeline(settings).models.generator
    histories: defaultdict[str, list[Answered]] = defaultdict(list)
    for event in results.answers:
        histories[event.query_id].append((results.seen(event), event.step))

    def calls() -> tuple[int, int]:
        counts = generator if isinstance(generator, CallCounts) else None
        return (counts.calls, counts.hits) if counts else (0, 0)

    started, (made, hit) = perf_counter(), calls()
    rows = baseline_rows(
        contenders,
        histories.values(),
        shared_pipeline(settings).models,
        settings.reading,
        batch=settings.batch.snapshots,
    )
    seconds, (asked, found) = perf_counter() - started, calls()
    write_whole(out / BASELINES, b"".join(map(encode_line, rows)))
    asked, found = asked - made, found - hit
    stage = StageCost("baselines", asked + found, asked, found, seconds)
    run = replace(results.run, stages=(*results.run.stages, stage))
    write_run(out, run)
    return replace(results, run=run, baselines=tuple(rows))


def read_scored(directory: Path) -> Scored:
    """Read a replay back. Raises ConfigurationError where none is finished there."""
    held = read_results(directory)
    baselines = tuple(read_lines(directory / BASELINES, Row))
    return Scored(held.run, held.answers, held.snapshots, held.dead_reasons, baselines)


def write_report(directory: Path, results: Scored) -> Path:
    """Render the HTML report beside the results."""
    file = directory / REPORT
    # What the models read follows from the snapshot and the settings.
    reading = ReadingSettings.model_validate(results.run.settings["reading"])
    seen = {answer.snapshot_id: results.seen(answer) for answer in results.answers}
    read = dict(zip(seen, as_read(list(seen.values()), reading), strict=True))
    html = render_report(
        results.answers, results.snapshots, results.run, read=read, baselines=results.baselines
    )
    file.write_text(html, encoding="utf-8")
    return file
