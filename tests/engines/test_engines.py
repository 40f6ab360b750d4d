"""`make engines`: what is fetched, what is refused, what runs and where it listens."""

import re
from pathlib import Path

import psutil
import pytest

from radarstream.pipelines.settings import load_settings
from tests.engines import __main__ as command
from tests.engines import artifacts, running
from tests.servers import LOOPBACK, listening

MAVEN = """#!/bin/sh
# As Maven: the profile after -P, the directory after -Doutput=.
for word; do
    case $word in -Doutput=*) output=${word#*=};; esac
    case $last in -P) engine=$word;; esac
    last=$word
done
mkdir -p "$output/$engine"
printf %s "$SAID" >"$output/$engine/some.jar"
exit "$ENDS"
"""


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Java and a Maven of our own, which brings one jar; its directory of jars."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mvn").write_text(MAVEN)
    (programs / "javac").write_text("#!/bin/sh\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("SAID", "expected")
    monkeypatch.setenv("ENDS", "0")
    checksums = tmp_path / "checksums.txt"
    digest = artifacts.sha256(b"expected").hexdigest()
    checksums.write_text(f"{digest}  kafka/some.jar\n{digest}  flink/some.jar\n")
    monkeypatch.setattr(artifacts, "java_version", lambda: artifacts.JAVA)
    monkeypatch.setattr(artifacts, "CHECKSUMS", checksums)
    monkeypatch.setattr(artifacts, "ENGINES", ("kafka", "flink"))
    monkeypatch.setattr(artifacts, "DIRECTORY", tmp_path / "jars")
    return tmp_path / "jars"


def kept(directory: Path) -> set[str]:
    return {str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file()}


def test_the_expected_jars_are_fetched_once_and_no_others_kept(empty, monkeypatch, capsys):
    both = {"kafka/some.jar", "flink/some.jar"}
    assert artifacts.missing("kafka") == "no jars of kafka: run `make engines`"
    assert command.main(["fetch"]) == 0
    assert (kept(empty), artifacts.missing("kafka", "flink")) == (both, "")
    (empty / "kafka" / "another.jar").write_text("")
    assert command.main(["fetch"]) == 0
    assert kept(empty) == both
    monkeypatch.setenv("ENDS", "1")  # it would fail now
    assert command.main(["fetch"]) == 0
    monkeypatch.setenv("ENDS", "0")
    (empty / "kafka" / "some.jar").write_text("damaged")
    monkeypatch.setenv("SAID", "something else")
    assert command.main(["fetch"]) == 1
    assert "not as in checksums.txt: kafka/some.jar" in capsys.readouterr().err
    assert kept(empty) == {"flink/some.jar"}
    assert artifacts.missing("kafka")
    assert command.main(["fetch", "--optional"]) == 0
    assert "note: no Apache Kafka" in capsys.readouterr().err


def test_what_is_missing_is_said(empty, monkeypatch, capsys):
    monkeypatch.setenv("ENDS", "1")
    assert command.main(["fetch"]) == 1
    assert "Maven ended with 1" in capsys.readouterr().err
    assert not kept(empty)
    programs = empty.with_name("bin")
    monkeypatch.setenv("PATH", str(programs))
    (programs / "mvn").unlink()
    assert command.main(["fetch"]) == 1
    assert "needs Maven (mvn), found none" in capsys.readouterr().err
    assert command.main(["start", "kafka"]) == 1
    assert "no jars of kafka: run `make engines`" in capsys.readouterr().err
    (programs / "javac").unlink()
    assert command.main(["fetch"]) == 1
    assert "needs Java's compiler (javac), found none" in capsys.readouterr().err
    monkeypatch.setattr(artifacts, "java_version", lambda: 11)
    assert command.main(["fetch"]) == 1
    assert "needs Java 17, found 11" in capsys.readouterr().err
    assert artifacts.missing("kafka") == "needs Java 17, found 11"


def test_what_has_ended_is_told_and_nothing_suggested_that_needs_it(tmp_path: Path) -> None:
    parts = ("job manager", "task manager 1", "job server", "worker pool")
    there = [running.Process("flink", name, 1, "1", "127.0.0.1:1", "log", []) for name in parts]
    running.write(tmp_path, there)
    whole = running.described(tmp_path, there)
    assert sum("radarstream submit" in line for line in whole) == 2
    assert "flink: job manager on 127.0.0.1:1 (8081 was taken), process 1, log" in whole
    rest = running.described(tmp_path, there[1:])
    assert "flink: job manager has ended, log" in rest
    assert not any("radarstream submit" in line for line in rest)


def test_each_kafka_has_settings_and_a_database_of_its_own(tmp_path: Path) -> None:
    """The same history on both is not late on the second one."""
    ports = {"kafka": (9092,), "kafka3": (9093, 9094, 9095)}
    there = [
        running.Process(engine, f"node {n}", 1, "1", f"127.0.0.1:{port}", "log", [])
        for engine, given in ports.items()
        for n, port in enumerate(given, 1)
    ]
    running.write(tmp_path, there)
    read = {name: load_settings(tmp_path / f"{name}.toml") for name in ports}
    assert read["kafka"].database != read["kafka3"].database
    assert [read[name].kafka.replication for name in ports] == [1, 3]
    assert read["kafka3"].kafka.bootstrap == "127.0.0.1:9093,127.0.0.1:9094,127.0.0.1:9095"
    said = running.described(tmp_path, there)
    typed = [line.split()[0] for line in said if " --config " in line]
    assert len(typed) == 4
    assert all(Path(program).is_file() for program in typed)


@pytest.mark.long
def test_engines_outlive_the_command_listen_on_loopback_and_are_stopped(tmp_path, capsys):
    if reason := artifacts.missing(*artifacts.ENGINES):
        pytest.skip(reason)
    where = ["--directory", str(tmp_path)]
    try:
        assert command.main(["start", *where]) == 0
        said = capsys.readouterr().out
        found = running.alive(tmp_path)
        assert [process.engine for process in found] == ["kafka"] + ["flink"] * 5
        for process in found:
            addresses = listening(process.pid)
            assert addresses and addresses <= LOOPBACK, (process.name, addresses)
            assert process.address in said
        assert re.search(r"radarstream submit --config \S+kafka.toml", said)
        assert command.main(["start", *where]) == 1
        assert "they run already" in capsys.readouterr().err
        for name in ("node 1", "job server", "worker pool"):
            killed = next(process for process in found if process.name == name)
            psutil.Process(killed.pid).kill()
            psutil.wait_procs([psutil.Process(killed.pid)])
            assert command.main(["start", *where]) == 0
            again = running.alive(tmp_path)
            assert [p.address for p in again] == [p.address for p in found]
            assert [p for p in again if p not in found] == [p for p in again if p.name == name]
            found = again
    finally:
        assert command.main(["stop", *where]) == 0
    assert not any(process.runs() for process in found)
    assert command.main(["status", *where]) == 0
    assert capsys.readouterr().out.endswith("nothing runs\n")
