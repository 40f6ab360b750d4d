"""The scripts that make passwords and a certificate, and pin images by digest, run for real."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deployment_files import DOCKERFILE, IMAGES, INFRA, OWN, ROOT, SERVICES


@pytest.fixture
def infra(tmp_path: Path) -> Path:
    """A copy of the files, in which scripts may write."""
    return Path(shutil.copytree(INFRA, tmp_path / "infra", ignore=shutil.ignore_patterns("*.env")))


def run(
    script: Path, *arguments: str, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    found = os.environ["PATH"] if path is None else f"{path}:/usr/bin:/bin"
    environment = os.environ | {"PATH": found}
    return subprocess.run([script, *arguments], env=environment, capture_output=True, text=True)


def variables(directory: Path) -> dict[str, dict[str, str]]:
    return {
        file.name: dict(
            line.split("=", 1)
            for line in file.read_text("utf-8").splitlines()
            if line and not line.startswith("#")
        )
        for file in sorted(directory.glob("*.env"))
    }


def test_secrets_are_made_once_and_fit_each_other(infra: Path) -> None:
    result = run(infra / "secrets.sh")
    assert result.returncode == 0, result.stderr
    made = variables(infra / "env")
    assert {f"{name}.example" for name in made} == {
        p.name for p in (INFRA / "env").glob("*.example")
    }
    passwords = {made["kafka.env"]["KAFKA_PASSWORD"], made["postgres.env"]["POSTGRES_PASSWORD"]}
    assert all(len(password) == 48 for password in passwords)
    assert len(passwords) == 2
    for given in made.values():
        assert given.get("KAFKA_PASSWORD", made["kafka.env"]["KAFKA_PASSWORD"]) in passwords
        assert given.get("PGPASSWORD", made["postgres.env"]["POSTGRES_PASSWORD"]) in passwords
    assert made["grafana.env"]["GF_SECURITY_ADMIN_PASSWORD"]
    assert made["watcher.env"]["SERPAPI_KEY"] == ""
    assert all((infra / "env" / name).stat().st_mode & 0o077 == 0 for name in made)
    assert (infra / "env" / "tls").stat().st_mode & 0o077 == 0
    needed = {v.split(":")[0] for s in SERVICES.values() for v in s.get("volumes", [])}
    assert all((infra / place).exists() for place in needed if place.startswith("./env"))

    (infra / "env" / "watcher.env").unlink()
    certificate = (infra / "env" / "tls" / "kafka.pem").read_bytes()
    assert run(infra / "secrets.sh").returncode == 0
    assert variables(infra / "env") == made
    assert (infra / "env" / "tls" / "kafka.pem").read_bytes() == certificate


def test_the_certificate_is_that_of_the_broker(infra: Path) -> None:
    run(infra / "secrets.sh")
    tls = infra / "env" / "tls"
    command = ["openssl", "verify", "-x509_strict", "-verify_hostname", "kafka"]
    checked = subprocess.run(
        [*command, "-CAfile", tls / "ca.pem", tls / "kafka.pem"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr
    assert "BEGIN PRIVATE KEY" in (tls / "kafka.pem").read_text()
    assert "PRIVATE" not in (tls / "ca.pem").read_text()


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_compose_refuses_images_without_a_digest(name: str) -> None:
    """Digests are the registries' to tell: infra/pin-images.sh writes them, compose insists."""
    given = SERVICES[name]["image"]
    if name in OWN:
        given = SERVICES[name]["build"]["args"]["PYTHON_IMAGE"]
        assert f"ARG PYTHON_IMAGE={IMAGES['PYTHON_IMAGE']}\n" in DOCKERFILE.read_text("utf-8")
        assert re.findall(r"^FROM (\S+)", DOCKERFILE.read_text("utf-8"), re.MULTILINE) == [
            "${PYTHON_IMAGE}",
            "${PYTHON_IMAGE}",
        ]
    variable = re.fullmatch(r"\$\{(\w+):\?run make deployment-files\}", given)
    assert variable
    assert variable[1] in IMAGES


DIGEST = "sha256:" + "0123456789abcdef" * 4


def registry(directory: Path, says: str) -> Path:
    """A `crane` and a `docker` that tell this of every image."""
    directory.mkdir()
    for tool in ("crane", "docker"):
        program = directory / tool
        program.write_text(f'#!/bin/sh\necho "$@" >> "{directory}/asked"\necho "{says}"\n')
        program.chmod(0o755)
    return directory


@pytest.mark.parametrize("tool", ["crane", "docker"])
def test_digests_are_written_for_every_image(infra: Path, tmp_path: Path, tool: str) -> None:
    tools = registry(tmp_path / "bin", DIGEST)
    if tool == "docker":
        (tools / "crane").unlink()
    result = run(infra / "pin-images.sh", path=tools)
    assert result.returncode == 0, result.stderr
    lines = (infra / ".env").read_text("utf-8").splitlines()[1:]
    assert dict(line.split("=", 1) for line in lines) == {
        name: f"{image}@{DIGEST}" for name, image in IMAGES.items()
    }
    asked = (tools / "asked").read_text("utf-8")
    assert all(image in asked for image in IMAGES.values())


def test_the_image_tells_the_licences_of_its_weights() -> None:
    text = DOCKERFILE.read_text("utf-8")
    notice = (ROOT / "NOTICE").read_text("utf-8")
    # The words that the Gemma Terms of Use ask for, section 3.1.
    asked = "Gemma is provided under and subject to the Gemma Terms of Use found at"
    assert f"{asked} ai.google.dev/gemma/terms" in notice
    assert re.search(r"^COPY LICENSE NOTICE ", text, re.MULTILINE)
    label = re.search(r'image.description="([^"]+)"', text)
    assert label
    assert "Gemma Terms of Use" in label[1]
    assert "all-MiniLM-L6-v2: Apache License 2.0" in label[1]
