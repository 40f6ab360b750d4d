"""Containers of the deployment files as processes of this machine.

Words, variables, probes and times are those of the files and of the image. What names a place in a
container or on its networks is replaced by a place here. A process writes to its home only, if this
machine lets it have mounts of its own.
"""

import ctypes
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import current_process
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import yaml

from tests.clocks import until
from tests.deployment_files import DOCKERFILE, INFRA, SERVICES
from tests.programs import Program, started

READY_S = 120.0
SCRIPTED = {"RADARSTREAM_PROFILE": "scripted"}
UNITS = {"s": 1, "m": 60}
# Flags of unshare(2) and mount(2).
NEW_MOUNTS, BIND, PRIVATE, READ_ONLY = 0x20000, 0x1000, 0x44000, 0x1021
# Whether processes may get a namespace of mounts.
CONFINES = bool(shutil.which("unshare")) and not subprocess.call(
    ["unshare", "--mount", "true"], stderr=subprocess.DEVNULL
)


def of_image(instruction: str) -> list[str]:
    """The words of an instruction of our Dockerfile, such as ENTRYPOINT."""
    (found,) = re.findall(
        rf"^{instruction}\b[^\[]*?(?:CMD )?(\[.*\])$",
        DOCKERFILE.read_text("utf-8").replace("\\\n", " "),
        re.MULTILINE,
    )
    return list(json.loads(found))


@dataclass(frozen=True)
class Container:
    """What a deployment file says of one container of our image."""

    words: list[str]
    variables: dict[str, str]
    probes: list[dict[str, Any]]
    grace_s: float


def composed(name: str, infra: Path) -> Container:
    """A service of compose. `infra` is a copy of the folder in which the secrets were made."""
    service = SERVICES[name]
    words = service.get("entrypoint", of_image("ENTRYPOINT")) + service["command"]
    variables = variables_of(*(infra / file for file in service.get("env_file", [])))
    test = service.get("healthcheck", {}).get("test", ["CMD", *of_image("HEALTHCHECK")])
    checks = [] if service.get("healthcheck", {}).get("disable") else [commanded(test)]
    patience = str(service.get("stop_grace_period", "10s"))
    grace = float(patience[:-1]) * UNITS[patience[-1]]
    return Container(words, variables | service.get("environment", {}), checks, grace)


def commanded(test: Sequence[str]) -> dict[str, Any]:
    """A health check of compose as a probe of Kubernetes."""
    kind, *words = test
    return {"exec": {"command": words if kind == "CMD" else ["sh", "-c", *words]}}


def orchestrated(pod: Mapping[str, Any], name: str, infra: Path) -> Container:
    """A container of a pod, with the variables of its secret and of its fields."""
    (given,) = (c for c in pod["containers"] + pod.get("initContainers", []) if c["name"] == name)
    words = given.get("command", of_image("ENTRYPOINT")) + given.get("args", [])
    secrets = [source["secretRef"]["name"] for source in given.get("envFrom", [])]
    files = [infra / "env" / f"{secret.removeprefix('radarstream-')}.env" for secret in secrets]
    fields = {variable["name"]: "radarstream-pod-0" for variable in given.get("env", [])}
    ports = {port["name"]: port["containerPort"] for port in given.get("ports", [])}
    probes = [
        numbered(given[f"{kind}Probe"], ports)
        for kind in ("startup", "liveness", "readiness")
        if f"{kind}Probe" in given
    ]
    grace = float(pod.get("terminationGracePeriodSeconds", 30))
    return Container(words, variables_of(*files) | fields, probes, grace)


def numbered(probe: Mapping[str, Any], ports: Mapping[str, int]) -> dict[str, Any]:
    """A probe whose port is a number."""
    if "exec" in probe:
        return {"exec": probe["exec"]}
    asked = probe["httpGet"]
    return {"url": f"http://127.0.0.1:{ports[asked['port']]}{asked['path']}"}


def variables_of(*files: Path) -> dict[str, str]:
    """The variables of environment files."""
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@dataclass
class Machine:
    """Where containers run here: `replaced` maps what the files say to what holds on this machine.

    `variables` are added to those of every container.
    """

    directory: Path
    replaced: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)

    def here(self, text: str) -> str:
        """A text of the files with every place replaced."""
        for place in sorted(self.replaced, key=len, reverse=True):
            text = text.replace(place, self.replaced[place])
        return text

    @contextmanager
    def running(self, name: str, container: Container) -> Iterator["Deployed"]:
        """The process of a container, killed at the end."""
        words = [self.here(word) for word in container.words]
        variables = {n: self.here(v) for n, v in container.variables.items()}
        home = self.directory / name
        scratch = home / "tmp"
        scratch.mkdir(parents=True, exist_ok=True)
        module, arguments = ("", words[1:])
        if words[0] == "python":
            assert words[1] == "-m"
            module, arguments = words[2], words[3:]
        else:
            assert words[0] == "radarstream"
        with started(
            *arguments,
            module=module,
            directory=home,
            out=home / "log",
            first=partial(live_here, str(home)),
            **(variables | {"HOME": str(home), "TMPDIR": str(scratch)} | self.variables),
        ) as program:
            probes = [json.loads(self.here(json.dumps(probe))) for probe in container.probes]
            yield Deployed(program, home / "log", probes, container.grace_s)


def live_here(home: str) -> None:
    """Find the broker by its name; write to nothing but `home`, as in a container."""
    find_kafka_here()
    # A forked process remembers where its parent keeps temporary files.
    tempfile.tempdir = None
    current_process()._config.pop("tempdir", None)  # type: ignore[attr-defined]
    if CONFINES:
        confine(home)


def find_kafka_here() -> None:
    """Resolve `kafka`, the name in the broker's certificate, to this machine."""
    resolve = socket.getaddrinfo

    def resolved(host: Any, *given: Any, **options: Any) -> Any:
        return resolve("127.0.0.1" if host == "kafka" else host, *given, **options)

    socket.getaddrinfo = resolved


def confine(home: str) -> None:
    """Make every file read-only to this process except those below `home`, as its volumes are."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: str, flags: int) -> int:
        return int(libc.mount(source.encode(), target.encode(), None, flags, None))

    if libc.unshare(NEW_MOUNTS) or mount("none", "/", PRIVATE) or mount(home, home, BIND):
        raise OSError(ctypes.get_errno(), "a namespace of mounts")
    lines = Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
    places = {line.split()[4] for line in lines} - {home}
    for place in places:
        mount("none", place, READ_ONLY)  # those of the kernel itself may refuse


@dataclass
class Deployed:
    """A running container: its process, its log, its probes."""

    program: Program
    log: Path
    probes: list[dict[str, Any]]
    grace_s: float

    def until_ready(self, says: str = "") -> None:
        """Wait until the log `says` that, and every probe passes. Raises AssertionError."""
        until(lambda: self.alive() and says in self.said(), READY_S, self.said)
        for probe in self.probes:
            until(lambda probe=probe: self.alive() and passes(probe), READY_S, self.said)

    def alive(self) -> bool:
        """True. Raises AssertionError if the process has ended."""
        ended = self.program.poll()
        assert ended is None, f"ended with {ended}: {self.said()}"
        return True

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send the stop signal; the exit code within the grace period. Raises TimeoutExpired."""
        self.program.send_signal(number)
        return self.program.wait(self.grace_s)

    def said(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


def passes(probe: Mapping[str, Any]) -> bool:
    """Ask a probe once."""
    if "url" in probe:
        try:
            with urlopen(probe["url"], timeout=5) as response:
                return bool(response.status == 200)
        except (URLError, OSError):
            return False
    words = list(probe["exec"]["command"])
    words[0] = sys.executable if words[0] == "python" else words[0]
    return subprocess.run(words, capture_output=True, timeout=30, check=False).returncode == 0


def settings_here(machine: Machine) -> Path:
    """The folder that stands for the mounted ConfigMap, with every place replaced."""
    folder = machine.directory / "settings"
    folder.mkdir(exist_ok=True)
    kustomization = yaml.safe_load((INFRA / "kubernetes" / "kustomization.yaml").read_text("utf-8"))
    for name in kustomization["configMapGenerator"][0]["files"]:
        text = (INFRA / "kubernetes" / name).read_text("utf-8")
        (folder / name).write_text(machine.here(text), encoding="utf-8")
    return folder
