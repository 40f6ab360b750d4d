"""The jars that `make engines` brings, and what is missing where they are not there."""

import re
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from os import pathsep
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "infra" / "engines" / "pom.xml"
CHECKSUMS = PROJECT.with_name("checksums.txt")
DIRECTORY = ROOT / "build" / "engines"
ENGINES = ("kafka", "flink", "job-server", "operator")  # the last is but a schema
JAVA = 17
LOOPBACK = PROJECT.with_name("Loopback.java")
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
    if reason := without_java():
        return reason
    absent = [engine for engine in engines if not any((DIRECTORY / engine).glob("*.jar"))]
    return f"no jars of {' and '.join(absent)}: run `make engines`" if absent else ""


def without_java() -> str:
    """Why the engines cannot run with this machine's Java; empty where they can."""
    if (found := java_version()) < JAVA:
        return f"needs Java {JAVA}, found {found or 'none'}"
    return "" if shutil.which("javac") else "needs Java's compiler (javac), found none"


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
    """The command that runs a class of an engine, its servers on loopback only.

    `options` are those of Java itself.
    """
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    opened += ["--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]
    quiet = f"-Dlog4j2.configurationFile={LOGGING}"
    path = pathsep.join([str(compiled()), str(DIRECTORY / engine / "*")])
    return ["java", *opened, quiet, *options, "-cp", path, LOOPBACK.stem, main, *arguments]


def compiled() -> Path:
    """The jar of the compiled `Loopback.java`; one for each text of it.

    Not a directory: Beam's job server sends its class path to Flink, which takes jars only.
    """
    jar = DIRECTORY / f"loopback-{sha256(LOOPBACK.read_bytes()).hexdigest()[:16]}.jar"
    if not jar.exists():
        with TemporaryDirectory(dir=DIRECTORY) as made:
            subprocess.run(["javac", "-d", f"{made}/classes", str(LOOPBACK)], check=True)
            Path(shutil.make_archive(f"{made}/loopback", "zip", f"{made}/classes")).rename(jar)
    return jar


def fetch() -> None:
    """Bring the jars of every engine that are not there as `checksums.txt` lists them.

    Raises FileNotFoundError without Java or Maven, CalledProcessError where Maven fails, ValueError
    for a jar that is not the expected one: then none of the engine's is kept.
    """
    if reason := without_java():
        raise FileNotFoundError(reason)
    if shutil.which("mvn") is None:
        raise FileNotFoundError("needs Maven (mvn), found none")
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for engine in ENGINES:
        if digests(DIRECTORY, engine) != expected(engine):
            shutil.rmtree(DIRECTORY / engine, ignore_errors=True)
            with TemporaryDirectory(prefix="fetching-", dir=DIRECTORY) as fetched:
                _fetch_into(Path(fetched), engine)
                (Path(fetched) / engine).rename(DIRECTORY / engine)


def _fetch_into(directory: Path, engine: str) -> None:
    where = ["-f", str(PROJECT), "-P", engine, f"-Doutput={directory}"]
    subprocess.run(["mvn", "-q", "-B", "--strict-checksums", *where, "package"], check=True)
    pairs = digests(directory, engine).items() ^ expected(engine).items()
    if pairs:
        names = sorted({name for name, _ in pairs})
        raise ValueError(f"not as in {CHECKSUMS.name}: {', '.join(names)}")


def digests(directory: Path, engine: str) -> dict[str, str]:
    """SHA-256 of each jar of an engine in a directory."""
    return {
        f"{engine}/{jar.name}": sha256(jar.read_bytes()).hexdigest()
        for jar in (directory / engine).glob("*.jar")
    }


def expected(engine: str) -> dict[str, str]:
    """SHA-256 of each jar that `checksums.txt` lists for an engine."""
    lines = (line.split() for line in CHECKSUMS.read_text(encoding="utf-8").splitlines())
    return {name: digest for digest, name in lines if name.startswith(f"{engine}/")}
