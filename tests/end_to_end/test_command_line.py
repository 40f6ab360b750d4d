"""The command line as a user meets it: commands, errors, interruption and resumption."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from unicodedata import category

import polars as pl
import pytest

from radarstream.pipelines.cli.terminal import cell
from radarstream.schemas.codec import encode
from radarstream.schemas.snapshot import Labels
from tests.builders import make_snapshot
from tests.commands import refused, run
from tests.end_to_end.interrupting import interrupted
from tests.programs import REPOSITORY
from tests.servers import free_port

ATTACK = "pia@1:every-2; poison@2+3:every-3"
OUTPUTS = {"run.json", "report.html", "state.sqlite"}
OUTPUTS |= {f"{name}.jsonl" for name in ("answers", "attribution", "deadletter", "snapshots")}


pytestmark = pytest.mark.usefixtures("own_directory")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("history") / "history.json"
    run("simulate", "--out", file, "--questions", 4, "--snapshots", "3-4", "--k", 6)
    return file


@pytest.fixture(scope="module")
def finished(history: Path) -> Path:
    """A replay of the history, to be copied."""
    out = history.parent / "finished"
    run("replay", history, "--dry-run", "--out", out)
    return out


@pytest.fixture
def replayed(own_directory: None, finished: Path, history: Path) -> tuple[str | Path, ...]:
    """The command of a replay that is finished, in a directory of the test's own."""
    shutil.copytree(finished, "out")
    return ("replay", history, "--dry-run", "--out", "out")


def results(pattern: str = "*.json*") -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path("out").glob(pattern)}


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def printed_safely(text: str) -> bool:
    return all(c == "\n" or category(c) not in {"Cc", "Cf", "Cs", "Co"} for c in text)


def test_a_replay_writes_everything_it_promises_and_again_asks_no_model(history, tmp_path) -> None:
    out = tmp_path / "a[red]b"  # printed as it is
    replay = ("replay", history, "--dry-run", "--attack", ATTACK, "--out", out)
    result = run(*replay)
    open_yet = {"state.sqlite-wal", "state.sqlite-shm"}  # while this process lives
    assert {file.name for file in out.iterdir()} - open_yet - {".lock"} == OUTPUTS
    snapshots = lines(out / "snapshots.jsonl")
    answers = lines(out / "answers.jsonl")
    assert len(answers) == len(snapshots) >= 12
    assert lines(out / "deadletter.jsonl") == []
    assert {s["labels"]["attack"] for s in snapshots} == {None, "pia", "poison"}
    assert all(event["data"]["undefended_answer"] is not None for event in answers)
    record = json.loads((out / "run.json").read_text())
    assert (record["answers"], record["dead_letters"]) == (len(answers), 0)
    stages = ["atomic answers", "relations", "undefended answer", "defence"]
    assert [stage["stage"] for stage in record["stages"]] == stages
    assert printed_safely(result.stdout)
    assert str(out / "report.html") in result.stdout

    first = {f.name: f.read_bytes() for f in out.glob("*.jsonl")}
    summary = json.loads(run(*replay, "--json").stdout)
    assert summary["run"] == json.loads((out / "run.json").read_text())
    assert {p["planted"] for p in summary["scores"]["defended"]} >= {0, 1}
    again = summary["run"]["stages"]
    assert [stage["model_calls"] for stage in again] == [0] * 4
    assert all(stage["requests"] > 0 for stage in again)
    run(*replay, "--resume")
    assert {f.name: f.read_bytes() for f in out.glob("*.jsonl")} == first
    report = out / "report.html"
    page = report.read_bytes()
    report.unlink()
    assert str(report) in run("report", out).stdout.replace("\n", "")
    assert report.read_bytes() == page


def test_terminal_report_and_json_score_alike_and_name_the_definition(tmp_path: Path) -> None:
    """7 and 1 are in the answer "2017", but are not what it says."""
    told_by = ("A morning paper, page four", "The harbour radio told us", "On a museum's wall")
    docs = [f"{teller}: Oslo won it in 2017." for teller in told_by]
    year = {"docs": docs, "answer": "7", "incorrect_answer": "1"}
    years = dict.fromkeys(("2018", "2019"), year)
    item = {"question": "In which year did Oslo win it?", "yearly_contexts": years}
    Path("history.json").write_text(json.dumps(item))
    told = run("replay", "history.json", "--dry-run", "--json", "--out", "out").stdout
    summary = json.loads(told)
    answers = [event["data"]["answer"] for event in lines(Path("out/answers.jsonl"))]
    assert answers == ["2017", "2017"]
    for side in ("defended", "undefended"):
        (point,) = summary["scores"][side]
        assert {point[name]["hits"] for name in ("accuracy", "attack_success", "silence")} == {0}
    again = run("replay", "history.json", "--dry-run", "--out", "out", "--table", "answers.csv")
    shown = " ".join(again.stdout.split())
    frame = pl.read_csv("answers.csv")
    assert frame["contender"].to_list() == ["defended", "undefended"] * 2
    assert frame["step"].to_list() == [0, 0, 1, 1]
    assert not frame["correct"].any() and not frame["fooled"].any()
    assert frame["contained_correct"].all() and frame["contained_fooled"].all()
    page = Path("out/report.html").read_text()
    assert shown.count(" 0/0/0 ") == page.count(">0/0/0<") == 2
    for text in (shown, " ".join(page.split())):
        assert "Accuracy / attack success / silence in percent, whole words" in text
    assert set(re.findall(r'<td class="cell-(\w+)', page)) == {"other"}


def test_baselines_stand_beside_the_defended_answers(history: Path, tmp_path: Path) -> None:
    """They take the same road as the undefended answer, on the same atomic answers."""
    out, named = tmp_path / "out", ["majority", "majority:memory=true", "vanilla"]
    asked = ("replay", history, "--dry-run", "--attack", ATTACK, "--out", out)
    told = run(*asked, "--baselines", ",".join(named), "--table", tmp_path / "answers.parquet")
    frame = pl.read_parquet(tmp_path / "answers.parquet")
    sides = frame["contender"].unique(maintain_order=True).to_list()
    assert sides == ["defended", "undefended", *named]
    columns = ["query_id", "step", "answer", "outcome", "attacked_steps", "poisoned_documents"]
    said = {s: frame.filter(pl.col("contender") == s).sort("query_id", "step") for s in sides}
    assert said["vanilla"].select(columns).equals(said["undefended"].select(columns))
    assert len(said["majority"]) == len(said["defended"])
    (stage,) = (s for s in json.loads((out / "run.json").read_text())["stages"]
                if s["stage"] == "baselines")  # fmt: skip
    assert 0 < stage["model_calls"] < stage["requests"]  # for pages that were not read
    page = (out / "report.html").read_text()
    assert all(name in told.stdout for name in named)
    assert ">majority:memory=true</bdi></th>" in page
    run("report", out)
    assert (out / "report.html").read_text() == page
    run(*asked)
    assert "majority" not in (out / "report.html").read_text()


def test_baselines_that_cannot_take_part_are_refused_before_anything_is_answered(history) -> None:
    for name in ("unheard", "majority:memory=perhaps"):
        code, _ = refused("replay", history, "--dry-run", "--baselines", name, "--out", "out")
        assert code == 2
        assert not Path("out", "answers.jsonl").exists()


def test_hostile_text_reaches_no_terminal(tmp_path: Path) -> None:
    hidden = "\u202e\u200b\u2066"
    pages = [f"Re{hidden}x won the [bold]Cup[/bold].", f"{hidden}Rex won the Cup."]
    snapshot = make_snapshot(pages, question=f"Who won the Cup{hidden} [red]today[/red]?")
    file = tmp_path / f"his{hidden}tory.jsonl"
    file.write_bytes(encode(snapshot) + b"\n")
    assert printed_safely(run("replay", file, "--dry-run", "--out", tmp_path / "out").stdout)
    assert cell("[red]x[/red]\x1b[2J").plain == "[red]x[/red][2J"


def test_passwords_stay_out_of_the_results(history, tmp_path, monkeypatch) -> None:
    assert run("--version").output == version("radarstream") + "\n"
    monkeypatch.setenv("RADARSTREAM_DATABASE", "postgresql://me:hunter2@127.0.0.1/none")
    out = tmp_path / "out"
    assert "hunter2" not in run("replay", history, "--dry-run", "--out", out).output
    assert not any(b"hunter2" in file.read_bytes() for file in out.iterdir())


@pytest.mark.parametrize("arguments", [["watch", "--once"], ["alert"], ["run", "--once"]])
def test_an_error_at_the_start_is_told_once(arguments, monkeypatch, tmp_path) -> None:
    settings = {
        "PROFILE": "scripted",
        "DATABASE": f"sqlite:///{tmp_path / 'state.db'}",
        "ALERTS__WEBHOOK__URL": "http://127.0.0.1:9/",
        "TELEMETRY__LISTEN": "",
        "KAFKA__BOOTSTRAP": f"127.0.0.1:{free_port()}",
        "KAFKA__REQUEST_TIMEOUT_S": "1",
    }
    for name in ("SERPAPI_KEY", "WEBHOOK_SECRET"):
        monkeypatch.setenv(name, "0123456789abcdef")
    for name, value in settings.items():
        monkeypatch.setenv(f"RADARSTREAM_{name}", value)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # put back: the logs take it over
    code, said = refused(*arguments)
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("error: cannot reach Kafka")


@pytest.mark.parametrize(
    ("typed", "named"),
    [("replay missing.json", "missing.json"), ("replay empty.jsonl", "no record"),
     ("replay empty.json", ""), ("replay notes.txt", "notes.txt"), ("report .", "snapshots.jsonl"),
     ("replay history.json --profile fast", "fast"), ("repaly", "repaly"),
     ("replay history.json --defense magic", "magic"), ("replay history.json --attack pia", "pia"),
     ("replay history.json --attack bomb@1", "bomb"), ("simulate --snapshots later", "later"),
     ("replay history.json --attack pia@1:17", "17"),
     ("replay unlabelled.jsonl --attack pia@1", "no target"),
     ("replay history.json --attack pia@1:1999", "pia@1:1999"),
     ("replay history.json --attack 'pia@1; poison@2:late-40'", "late-40"),
     ("replay history.json --attack poisonedrag-mixed@1", "no second"),
     ("replay history.json --out notes.txt/out", "notes.txt/out"),
     ("replay history.json --config none.toml", "none.toml"),
     ("replay history.json --config wrong.toml", "profil"),
     ("ingest history.json --attack pia@1:1999", "pia@1:1999"),
     ("simulate --out notes.txt/history.json", "notes.txt")],
)  # fmt: skip
def test_wrong_usage_is_one_clear_line(history, tmp_path, typed, named) -> None:
    shutil.copy(history, tmp_path / "history.json")
    given = {"empty.jsonl": "", "empty.json": "", "notes.txt": "notes", "wrong.toml": "profil = 1"}
    for name, text in given.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "unlabelled.jsonl").write_bytes(encode(make_snapshot(["Rex won."])) + b"\n")
    words = shlex.split(typed)
    dry = ["--dry-run"] if words[0] == "replay" and "--profile" not in words else []
    code, error = refused(*words, *dry)
    assert code == 2
    assert named in error
    if error.startswith("error: "):
        assert error.count("\n") == 1
    else:
        assert "Usage" in error  # the option parser's own box


@pytest.mark.usefixtures("replayed")
def test_wrong_usage_costs_no_earlier_result(history: Path) -> None:
    before = results("*.[jh]*")
    assert before.keys() == OUTPUTS - {"state.sqlite"}
    for wrong in (["--attack", "bomb@1"], ["--defense", "magic"], ["--profile", "fast"], []):
        source = history if wrong else "missing.json"
        options = wrong if "--profile" in wrong else ["--dry-run", *wrong]
        assert refused("replay", source, *options, "--out", "out")[0] == 2
        assert before.items() <= results("*.[jh]*").items()


def test_a_replay_is_resumed_with_its_own_settings_only(replayed: tuple[str, ...]) -> None:
    """Otherwise answers to benign pages would be shown, and scored, beside attacked ones."""
    before = results()
    days = "defense.options = {memory_days = 9}\n[limits]\ndocuments = 9"
    for config, options, *named in (
        ("", ("--attack", ATTACK), "another attack"),
        (days, (), "defense.options.memory_days: None there, 9 here", "limits.documents"),
        ("limits.documents = 7", (), "limits.documents: 200 there, 7 here"),
        ("", ("--defense", "vanilla"), "defense.name: voices there, vanilla here"),
    ):
        Path("other.toml").write_text(config)
        changed = (*replayed, "--config", "other.toml", *options)
        code, error = refused(*changed, "--resume")
        assert (code, error.count("\n")) == (2, 1)
        assert "--attack" in options or "the results there are of another replay: " in error
        assert all(words in error for words in named)
        assert before.items() <= results().items()
    run(*changed)  # it may start over


def test_a_replay_is_resumed_with_its_own_models_and_code_only(replayed: tuple[str, ...]) -> None:
    replay = (*replayed, "--resume")
    file = Path("out/run.json")
    record = json.loads(file.read_text())
    assert record["finished"] and record["code"] and record["prompts"]
    for changes, named in (
        ({"models": record["models"] | {"generator": "gpt-9"}}, "models.generator: gpt-9 there, "),
        ({"models": record["models"] | {"tokens": "gpt-9"}}, "models.tokens: gpt-9 there, "),
        ({"code": "0" * 12}, "the code that computes answers has changed"),
        ({"prompts": {"atomic_answer": "0"}}, "the wording of the prompts atomic_answer"),
    ):
        file.write_text(json.dumps(record | changes))
        code, error = refused(*replay)
        assert code == 2 and named in error
    file.write_text(json.dumps(record))
    code, error = refused(*replay, "--defense", "vanilla")
    assert code == 2 and "defense.name: voices there" in error and "code" not in error
    code, error = refused(*replay, "--reranker", "grada")
    assert code == 2 and "grada here" in error and "code" not in error
    del record["code"], record["prompts"]  # written before they were
    file.write_text(json.dumps(record))
    run(*replay)
    file.unlink()
    code, error = refused(*replay)
    assert code == 2 and "no run.json in out" in error


def test_an_attack_skips_snapshots_without_what_it_needs_and_says_so(tmp_path: Path) -> None:
    lies = Labels(("Oslo",), target="Bergen", false_passages=("It is Bergen.",))
    unclaimed, unaimed = replace(lies, false_passages=()), replace(lies, target=None)
    lines_of = []
    for number, labels in enumerate((lies, unclaimed, unaimed, None, lies)):
        asked = {"question": f"Where is it {number}?", "query_id": f"q-{number}"}
        snapshot = make_snapshot(["Oslo it is."], **asked)
        lines_of.append(encode(replace(snapshot, labels=labels)) + b"\n")
    (tmp_path / "mixed.jsonl").write_bytes(b"".join(lines_of))
    replay = ("replay", "mixed.jsonl", "--dry-run", "--out", "out", "--json")
    result = run(*replay, "--attack", "poison@1:every-2; pia@1")
    attacked = [(s["labels"] or {}).get("attack") for s in lines(Path("out/snapshots.jsonl"))]
    assert attacked == ["poison", "pia", None, None, "poison"]
    note = "note: pia@1: 1 snapshot attacked, 1 skipped; the first: "
    assert note in result.stderr and "has no target answer to attack with" in result.stderr
    told = json.loads(result.stdout)["run"]["attacks"]
    assert [{**t, "reason": ""} for t in told] == [
        {"clause": "poison@1:every-2", "due": 3, "attacked": 2, "skipped": 1, "reason": ""},
        {"clause": "pia@1", "due": 5, "attacked": 1, "skipped": 1, "reason": ""},
    ]
    assert len(lines(Path("out/answers.jsonl"))) == 5


def test_one_replay_at_a_time_writes_to_a_directory(replayed: tuple[str, ...]) -> None:
    """A second one would remove the files that the first is writing."""
    before = results("*")
    with Path("out/.lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for options in ([], ["--resume"]):
            refusal = refused(*replayed, *options)
            assert refusal == (2, "error: another command is writing to out\n")
    assert results("*") == before
    run(*replayed)


def test_a_replay_that_answers_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}\nnot json\n")
    code, error = refused("replay", "bad.jsonl", "--dry-run", "--out", "out")
    assert code == 1
    assert "no snapshot was answered" in error and "bad.jsonl record 1: " in error
    assert "model" not in error  # the records are at fault
    assert len(lines(tmp_path / "out" / "deadletter.jsonl")) == 2


@pytest.mark.usefixtures("replayed")
def test_a_damaged_result_is_named() -> None:
    for name in ("answers.jsonl", "snapshots.jsonl", "deadletter.jsonl"):
        file = Path("out", name)
        whole = file.read_bytes()
        file.write_bytes(whole[:-300] or b"{\n")  # there is no dead letter
        code, error = refused("report", "out")
        assert (code, error.count("\n")) == (2, 1)
        last = len(whole.splitlines()) or 1
        assert f"out/{name} line {last} is damaged" in error
        file.write_bytes(whole)


# Real processes below.


def test_the_installed_command_refuses_in_one_line(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("radarstream")
    if not command.exists():
        pytest.skip("the project is not installed: pip install -e .")
    words = [command, "replay", "missing.json", "--dry-run"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "error: missing.json does not exist\n"


def test_an_interrupt_says_how_to_go_on_also_in_the_background(history, tmp_path) -> None:
    """`test_replay_crashes` goes on and compares."""
    out = str(tmp_path / "out")
    arguments = ["replay", str(history), "--dry-run", "--out", out]
    code, error = interrupted(tmp_path, 1, signal.SIGINT, arguments, background=True)
    assert code == 130
    assert error == "interrupted: the same command with --resume goes on from here\n"
    assert not json.loads(Path(out, "run.json").read_text())["finished"]
    assert "no finished replay" in refused("report", out)[1]
