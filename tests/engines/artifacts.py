"""The jars that `make engines` brings, and what is missing where they are not there."""

import re
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "infra" / "engines" / "pom.xml"
CHECKSUMS = PROJECT.with_name("checksums.txt")
DIRECTORY = ROOT / "build" / "engines"
ENGINES = ("kafka", "flink", "job-server", "operator")  # the last is but a schema
JAVA = 17
LOGGING = PROJECT.with_name("log4j2.properties")
# Flink's own scripts open the same modules of Java.
OPENED = ("lang", "lang.reflect", "net", "io", "nio", "text", "time", "util", "util.concurrent")


def missing(*engines: str) -> str:
    """Why these engines cannot be started on this machine; empty where they can.

    >>> missing()
    ''
    """
    if not engines:
        return ""
    if (found := java_version()) < JAVA:
        return f"needs Java {JAVA}" + (f", found {found}" if found else "")
    absent = [engine for engine in engines if not any((DIRECTORY / engine).glob("*.jar"))]
    return f"no jars of {' and '.join(absent)}: run `make engines`" if absent else ""


@cache
def java_version() -> int:
    """The major version of the `java` on the path; 0 without one."""
    program = shutil.which("java")
    if program is None:
        return 0
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', said.stderr)
    return int(found[1]) if found else 0


def java(engine: str, main: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """The command that runs a class of an engine; `options` are those of Java itself."""
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    opened += ["--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]
    quiet = f"-Dlog4j2.configurationFile={LOGGING}"
    path = str(DIRECTORY / engine / "*")
    return ["java", *opened, quiet, *options, "-cp", path, main, *arguments]


def fetch() -> None:
    """Bring the jars of every engine and compare them with `checksums.txt`.

    Raises FileNotFoundError without Maven, CalledProcessError where it fails, ValueError for a jar
    that is not the expected one.
    """
    for engine in ENGINES:
        arguments = ["-f", str(PROJECT), "-P", engine, f"-Doutput={DIRECTORY}"]
        if digests(engine) != expected(engine):
            shutil.rmtree(DIRECTORY / engine, ignore_errors=True)
            subprocess.run(
                ["mvn", "-q", "-B", "--strict-checksums", *arguments, "package"], check=True
            )
        differing = sorted(set(digests(engine).items()) ^ set(expected(engine).items()))
        if differing:
            shutil.rmtree(DIRECTORY / engine)
            raise ValueError(f"not as in {CHECKSUMS.name}: {', '.join(n for n, _ in differing)}")


def digests(engine: str) -> dict[str, str]:
    """SHA-256 of each jar of an engine that is there."""
    return {
        f"{engine}/{jar.name}": sha256(jar.read_bytes()).hexdigest()
        for jar in (DIRECTORY / engine).glob("*.jar")
    }


def expected(engine: str) -> dict[str, str]:
    """SHA-256 of each jar that `checksums.txt` lists for an engine."""
    lines = (line.split() for line in CHECKSUMS.read_text(encoding="utf-8").splitlines())
    return {name: digest for digest, name in lines if name.startswith(f"{engine}/")}
