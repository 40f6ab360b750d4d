"""A study of each kind for tests of its page, also with text that attacks the reader."""

from pathlib import Path
from typing import Any

from radarstream.lab.cli.kinds import KINDS
from radarstream.lab.pages.studies import Report
from radarstream.lab.study.harness import Study
from radarstream.lab.study.specs import Spec
from tests.lab import attribution_studies, defence_studies, retrieval_studies, service_studies
from tests.lab.attribution_studies import towns
from tests.lab.pages.attribution_pages import hostile_data
from tests.pipelines.pages.report_run import IMAGE

ATTACKS = "poisonedrag,hijack"
CONTENDERS = (Spec("vanilla", "vanilla"), Spec(f"radar{IMAGE}", "radar"))


def defences(out: Path, data: Any, **options: Any) -> Study:
    contenders = CONTENDERS if "hostile" in options else "vanilla,radar,majority"
    bench = defence_studies.Bench(out)
    asked = {"command": options.get("hostile", "radarstream evaluate")}
    return bench.run(data, contenders, ("benign", "pia@1", "claim@1"), **asked)


def retrieval(out: Path, data: Any, **options: Any) -> Study:
    bench = retrieval_studies.Bench(out)
    return bench.run(ATTACKS, "grada", defences=("vanilla", "radar"), dataset=data)


def attribution(out: Path, data: Any, **options: Any) -> Study:
    bench = attribution_studies.Bench(out)
    return bench.run("injection,false-reports", "rag_origin,keyword_match,norm", dataset=data)


def service(out: Path, data: Any, **options: Any) -> Study:
    bench = service_studies.Bench(out)
    return bench.run("mba:each=true,poisoning,leakage", "static:audit,static", dataset=data)


RUNS = {one.__name__: one for one in (defences, retrieval, attribution, service)}


def written(study: Study) -> Report[Any]:
    """Write the page of a study."""
    return KINDS[study.kind.name][1].report(study.out, study.record, study.store)


def page_of(kind: str, out: Path, *, hostile: bool = False) -> str:
    """The page of a small study."""
    data = hostile_data() if hostile else towns()
    study = RUNS[kind](out, data, **({"hostile": IMAGE} if hostile else {}))
    if hostile:
        study.update(dataset=IMAGE, command=IMAGE, notes=(IMAGE,), data={IMAGE: IMAGE})
    written(study)
    return (out / "report.html").read_text("utf-8")
