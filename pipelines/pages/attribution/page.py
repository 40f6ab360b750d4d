"""The page of a study of attributors."""

from pathlib import Path
from typing import Final

from radarstream.connectors.models.bundled import licences
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.attribution.view import StudyView
from radarstream.pipelines.pages.incidents.words import FINDINGS, SCORES

STUDY: Final = "report.html"


def write_study_page(out: Path, view: StudyView) -> Path:
    """Write the page of a study into its directory and return its path."""
    record = view.record
    page = frame.Page(
        title=f"Attributors compared on {record.dataset}",
        sentence=view.sentence,
        more=view.sentences,
        plot=view.plot,
        links=[("#tables", "Tables", True), ("#events", "Wrong answers", view.scenarios)],
        words=SCORES,
        heads=(
            ("texts", record.texts),
            ("documents each", record.k),
            ("attributors", len(record.attributors)),
            ("scenarios", len(record.scenarios)),
        ),
        notes=record.notes,
        provenance=[
            ("digest of the data", record.dataset_digest),
            ("revision", record.revision),
            ("seed", record.seed),
            ("seconds", f"{record.seconds:.0f}"),
            *record.models.items(),
            *record.versions.items(),
            *((f"prompt {task}", digest) for task, digest in sorted(record.prompts.items())),
            *(("licence of weights", told) for told in licences(record.models.values())),
        ],
        command=record.command,
        settings=record.settings,
    )
    (out / STUDY).write_text(
        frame.render("attribution.html.j2", page, view=view, findings=FINDINGS), encoding="utf-8"
    )
    return out / STUDY
