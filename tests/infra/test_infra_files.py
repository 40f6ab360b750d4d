"""Deployment files name what exists: commands and flags, settings, files; and hold no secret.

Nothing here starts a container.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from radarstream.pipelines.searching import search_service
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.section import read_secret
from tests.deployed_processes import variables_of
from tests.deployment_files import (
    COMPOSE,
    DOCKERFILE,
    IMAGES,
    INFRA,
    MANIFESTS,
    ONE_SHOT,
    OWN,
    ROOT,
    SERVICES,
    containers,
    deployments,
    documents,
    flink,
    image,
    own_containers,
    pods,
    policies,
    templates,
)
from tests.documented_commands import check_command
from tests.engines.artifacts import DIRECTORY, missing

SECRET_NAME = re.compile(r"PASSWORD|SECRET|TOKEN|_KEY\b", re.IGNORECASE)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_services_name_a_pinned_image_and_existing_files(name: str) -> None:
    service = SERVICES[name]
    tag = image(service).rpartition(":")[2]
    assert re.search(r"\d+\.\d+", tag), f"{image(service)} names no version"
    assert service.get("restart"), "says nothing about restarts"
    for env_file in service.get("env_file", []):
        assert (INFRA / f"{env_file}.example").is_file()
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if source.startswith(".") and not source.startswith("./env/tls/"):  # infra/secrets.sh
            assert (INFRA / source).exists(), source
    for dependency in service.get("depends_on", []):
        assert dependency in SERVICES
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert name != "beam-workers" or "ports" not in service
    if name not in ONE_SHOT:
        built_in = name in OWN and "HEALTHCHECK" in DOCKERFILE.read_text()
        assert service.get("healthcheck", {}).get("test") or built_in


@pytest.mark.parametrize("name", sorted(OWN))
def test_our_services_run_commands_that_exist_with_settings_that_load(name, monkeypatch) -> None:
    service = SERVICES[name]
    if "entrypoint" not in service:
        check_command(service["command"])
    for variable, value in service["environment"].items():
        monkeypatch.setenv(variable, value)
    settings = load_settings()
    assert settings.database.startswith("postgresql://")
    assert settings.kafka.bootstrap.split(":")[0] in SERVICES
    assert settings.kafka.security == "SASL_SSL"


def test_no_secret_is_in_a_file() -> None:
    """Values of secrets are empty in examples, and absent everywhere else."""
    for example in sorted((INFRA / "env").glob("*.example")):
        for line in example.read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                assert re.fullmatch(r"[A-Z][A-Z0-9_]*=", line), f"{example.name}: {line}"
    for service in SERVICES.values():
        assert [v for v in service.get("environment", {}) if SECRET_NAME.search(v)] == []
    for container in containers():
        for variable in container.get("env", []):
            assert variable["valueFrom"].keys() == {"fieldRef"}
        assert all("secretRef" in source for source in container.get("envFrom", []))
    assert (INFRA / "env" / ".gitignore").read_text().split() == ["*.env", "tls/"]


def test_example_variables_are_those_that_settings_name() -> None:
    settings = load_settings(profile="api")
    known = {
        settings.kafka.password_variable,
        search_service(settings.search).key_variable,
        settings.generator.api_key_variable,
        "PGPASSWORD",  # read by PostgreSQL's own client library
    }
    for name in ("worker", "watcher"):
        lines = (INFRA / "env" / f"{name}.env.example").read_text("utf-8").splitlines()
        assert {line[:-1] for line in lines if line.endswith("=")} <= known
    assert read_secret.__module__ == "radarstream.schemas.section"


def test_the_image_is_built_from_what_exists() -> None:
    text = DOCKERFILE.read_text("utf-8")
    ignored = (INFRA / "worker.Dockerfile.dockerignore").read_text("utf-8")
    for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in ignored.splitlines()
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (models,) = re.findall(r"ARG MODELS=(\S+)", text)
    assert (ROOT / "requirements" / f"image-{models}.txt").is_file()
    for package in pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert f"COPY {package} {package}" in text
    assert re.findall(r"^USER (\S+)", text, re.MULTILINE) == ["10001:10001"]
    assert text.index("USER 10001") < text.index("ENTRYPOINT")
    version = pyproject["project"]["version"]
    assert version in text
    for service in OWN:
        assert SERVICES[service]["image"].endswith(f":{version}")


def test_pods_run_commands_that_exist() -> None:
    kustomization = yaml.safe_load((INFRA / "kubernetes" / "kustomization.yaml").read_text())
    for resource in kustomization["resources"]:
        assert (INFRA / "kubernetes" / resource).is_file()
    generated = kustomization["configMapGenerator"][0]["files"]
    for container in own_containers():
        if "command" not in container:
            check_command(container["args"])
        for path in re.findall(r"/etc/radarstream/(\S+)", " ".join(container.get("args", []))):
            assert path in generated
    for container in containers():
        of_operator = container["name"] == "flink-main-container"  # it gives `resource` of the part
        assert of_operator or container["resources"]["limits"]["memory"]
    for pod in pods():
        assert pod["enableServiceLinks"] is False  # RADARSTREAM_… variables would be refused
    kinds = [document.get("kind") for document in documents()]
    assert {"Deployment", "PodDisruptionBudget", "NetworkPolicy"} <= set(kinds)


def test_the_settings_of_the_cluster_load() -> None:
    settings = load_settings(INFRA / "kubernetes" / "settings.toml")
    assert settings.job.membership == "group"
    assert settings.database.startswith("postgresql://")
    assert settings.kafka.security == "SASL_SSL"
    ports = {p["port"] for rule in policies()["radarstream"]["egress"] for p in rule["ports"]}
    assert int(settings.kafka.bootstrap.rpartition(":")[2]) in ports


def test_what_may_be_added_builds_with_the_rest(tmp_path: Path) -> None:
    """Every manifest is in the kustomization or one comment away, and is valid as it is built."""
    shutil.copytree(INFRA / "kubernetes", tmp_path / "k")
    file = tmp_path / "k" / "kustomization.yaml"
    text = re.sub(r"^  # - (\S+\.yaml).*", r"  - \1", file.read_text("utf-8"), flags=re.MULTILINE)
    file.write_text(text)
    named = {*yaml.safe_load(file.read_text())["resources"], file.name, "watchlist.yaml"}
    assert named == {manifest.name for manifest in MANIFESTS}
    if shutil.which("kubectl") is None:
        return
    command = ["kubectl", "kustomize", str(tmp_path / "k")]
    built = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    for deployment in deployments():
        assert f"name: {deployment['metadata']['name']}\n" in built.stdout
    version = kubernetes_validate.latest_version()
    for document in yaml.safe_load_all(built.stdout):
        if document["kind"] != "FlinkDeployment":
            kubernetes_validate.validate(document, version, strict=True)
    assert "image: radarstream\n" not in built.stdout, "an image that kustomize does not replace"


def test_whoever_serves_metrics_is_scraped_and_probed() -> None:
    """`alert` alone has no port; compose and Kubernetes run the same commands that stay up."""
    commands = set()
    for deployment in deployments():
        template = deployment["spec"]["template"]
        assert template["metadata"]["labels"] == deployment["spec"]["selector"]["matchLabels"]
        for container in template["spec"]["containers"]:
            if container.get("image") != "radarstream" or "command" in container:
                continue
            commands.add(container["args"][0])
            if container["args"][0] == "alert":
                continue
            assert template["metadata"]["annotations"]["prometheus.io/port"] == "9464"
            assert {"name": "telemetry", "containerPort": 9464} in container["ports"]
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
    composed = {SERVICES[name]["command"][0] for name in OWN - ONE_SHOT - {"beam-workers"}}
    assert commands == composed


@pytest.mark.parametrize("script", sorted((INFRA / "flink").glob("*.sh")), ids=lambda p: p.name)
def test_scripts_parse_and_name_existing_flags(script: Path) -> None:
    subprocess.run(["/bin/sh", "-n", str(script)], check=True)
    text = script.read_text("utf-8").replace("\\\n", " ")
    for line in re.findall(r"radarstream (submit .*)", text):
        if line.startswith("submit`"):
            continue
        check_command(shlex.split(line))


def test_the_submission_script_hands_the_job_over(tmp_path: Path) -> None:
    """Run for real, with a command of our own that shows what it is given."""
    recorder = tmp_path / "radarstream"
    recorder.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    recorder.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/bin:/usr/bin", "JOB_SERVER": "server:8099"}
    script = str(INFRA / "flink" / "submit.sh")
    command = ["/bin/sh", script, "--print-options"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    given = ran.stdout.splitlines()
    check_command(given)
    after = {name: given[given.index(name) + 1] for name in ("--job-endpoint", "--savepoint")}
    assert after == {"--job-endpoint": "server:8099", "--savepoint": ""}
    assert given[-1] == "--print-options"
    missing = subprocess.run(["/bin/sh", script], env={"PATH": "/bin"}, capture_output=True)
    assert missing.returncode != 0


# --- compose, Kubernetes, settings and engines agree ----------------------------------------------


PROBES = ("startup", "liveness", "readiness")


def test_the_service_listens_where_it_is_asked() -> None:
    settings = load_settings(INFRA / "kubernetes" / "settings.toml")
    (serve,) = (c for c in containers() if c["name"] == "serve")
    ports = {port["name"]: port["containerPort"] for port in serve["ports"]}
    assert settings.serving.listen == f"0.0.0.0:{ports['http']}"
    assert settings.serving.health_listen == f"0.0.0.0:{ports['telemetry']}"
    assert {serve[f"{kind}Probe"]["httpGet"]["port"] for kind in PROBES} == {"telemetry"}
    assert settings.serving.hosts
    rules = policies()["radarstream-serve"]["ingress"]
    assert {p["port"] for rule in rules for p in rule["ports"]} == set(ports.values())
    (service,) = (d for d in documents() if d.get("kind") == "Service")
    assert service["spec"]["selector"] == {"app.kubernetes.io/name": "radarstream-serve"}
    assert service["spec"]["ports"][0]["targetPort"] == "http"
    pod = templates()["radarstream-serve"]["spec"]
    before = float(serve["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > before + settings.serving.stop_s
    environment = SERVICES["serve"]["environment"]
    assert environment["RADARSTREAM_SERVING__HEALTH_LISTEN"] in DOCKERFILE.read_text("utf-8")
    assert "healthcheck" not in SERVICES["serve"]  # but the image's
    composed = environment["RADARSTREAM_SERVING__LISTEN"]
    assert SERVICES["serve"]["ports"] == [f"127.0.0.1:8080:{composed.rpartition(':')[2]}"]
    assert float(SERVICES["serve"]["stop_grace_period"].removesuffix("s")) > settings.serving.stop_s


def test_flink_is_the_same_in_compose_and_kubernetes() -> None:
    spec = flink()
    assert spec["image"] == IMAGES["FLINK_IMAGE"]
    version = re.search(r":(\d+)\.(\d+)", spec["image"])
    assert version
    assert spec["flinkVersion"] == f"v{version[1]}_{version[2]}"
    (server,) = (c for c in containers() if c["name"] == "job-server")
    assert server["image"] == IMAGES["JOB_SERVER_IMAGE"]
    assert f"beam_flink{version[1]}.{version[2]}_" in server["image"]
    engines = (INFRA / "engines" / "pom.xml").read_text("utf-8")
    assert f"<flink.version>{IMAGES['FLINK_IMAGE'].split(':')[1].split('-')[0]}<" in engines
    assert f"<beam.version>{server['image'].rpartition(':')[2]}<" in engines
    assert f"<kafka.version>{IMAGES['KAFKA_IMAGE'].rpartition(':')[2]}<" in engines
    composed = yaml.safe_load((INFRA / "flink" / "config.yaml").read_text("utf-8"))
    alike = {"env.java.opts.all", "state.backend.type"}
    for name in alike | {"state.checkpoints.dir", "state.savepoints.dir"}:
        assert composed[name] == spec["flinkConfiguration"][name]
    (container, *_) = spec["taskManager"]["podTemplate"]["spec"]["containers"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/flink", "/beam-staging", "/tmp"} <= mounts  # noqa: S108 a mount of the container


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
    return {file.name: variables_of(file) for file in sorted(directory.glob("*.env"))}


def test_secrets_are_made_once_and_fit_each_other(infra: Path) -> None:
    result = run(infra / "secrets.sh")
    assert result.returncode == 0, result.stderr
    made = variables(infra / "env")
    examples = {path.name for path in (INFRA / "env").glob("*.example")}
    assert {f"{name}.example" for name in made} == examples
    passwords = {made["kafka.env"]["KAFKA_PASSWORD"], made["postgres.env"]["POSTGRES_PASSWORD"]}
    assert [len(password) for password in passwords] == [48, 48]
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
    assert (run(infra / "secrets.sh").returncode, variables(infra / "env")) == (0, made)
    assert (infra / "env" / "tls" / "kafka.pem").read_bytes() == certificate


def test_the_certificate_is_that_of_the_broker(infra: Path) -> None:
    run(infra / "secrets.sh")
    tls = infra / "env" / "tls"
    command = ["openssl", "verify", "-x509_strict", "-verify_hostname", "kafka"]
    command += ["-CAfile", tls / "ca.pem", tls / "kafka.pem"]
    checked = subprocess.run(command, capture_output=True, text=True)
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
        bases = re.findall(r"^FROM (\S+)", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
        assert bases == ["${PYTHON_IMAGE}"] * 2
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
    assert sorted(lines) == sorted(f"{name}={image}@{DIGEST}" for name, image in IMAGES.items())
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


VERSIONS = ("1.30", kubernetes_validate.latest_version())  # of Kubernetes: oldest promised, newest
OTHERS = {None, "Kustomization", "FlinkDeployment"}  # kinds that Kubernetes itself does not have
BUILT_IN = [document for document in documents() if document.get("kind") not in OTHERS]
NEEDS_OPERATOR = pytest.mark.skipif(bool(missing("operator")), reason=missing("operator"))
NEEDS_FLINK = pytest.mark.skipif(bool(missing("flink")), reason=missing("flink"))


def named(document: dict[str, Any]) -> str:
    return f"{document['kind']} {document['metadata']['name']}"


def compose_schema() -> Any:
    """The schema of the compose specification, as check-jsonschema ships it."""
    place = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    schema = json.loads(place.read_text("utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


def test_compose_is_valid() -> None:
    assert [error.message for error in compose_schema().iter_errors(COMPOSE)] == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("document", BUILT_IN, ids=named)
def test_kubernetes_objects_are_valid(document: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("part", ["jobManager", "taskManager"])
@pytest.mark.parametrize("version", VERSIONS)
def test_pods_of_flink_are_valid(part: str, version: str) -> None:
    """The operator's schema stems from one version of Kubernetes; pods must be valid in others."""
    pod = {"apiVersion": "v1", "kind": "Pod"} | flink()[part]["podTemplate"]
    kubernetes_validate.validate(pod, version, strict=True)
    pod["spec"] = pod["spec"] | {"volume": []}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod, version, strict=True)


@cache
def operator_schema() -> jsonschema.Draft202012Validator:
    """The schema of a FlinkDeployment's specification; what it does not name is refused."""
    (jar,) = (DIRECTORY / "operator").glob("flink-kubernetes-operator-api-*.jar")
    text = zipfile.ZipFile(jar).read("META-INF/fabric8/flinkdeployments.flink.apache.org-v1.yml")
    (version,) = yaml.load(text, yaml.CSafeLoader)["spec"]["versions"]
    assert version["name"] == "v1beta1"
    return jsonschema.Draft202012Validator(
        strict(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
    )


def strict(schema: Any) -> Any:
    """A schema that allows no field it does not name: Kubernetes would drop it in silence."""
    if not isinstance(schema, dict):
        return schema
    inner = {name: strict(value) for name, value in schema.items()}
    if "properties" in inner and "additionalProperties" not in inner:
        inner["properties"] = {name: strict(value) for name, value in schema["properties"].items()}
        inner["additionalProperties"] = False
    return inner


@NEEDS_OPERATOR
def test_the_cluster_is_valid_for_the_operator() -> None:
    assert [error.message for error in operator_schema().iter_errors(flink())] == []


def options_of_flink() -> bytes:
    """The classes of Flink that name its options; they hold the names as they are."""
    return b"".join(
        archive.read(name)
        for jar in (DIRECTORY / "flink").glob("flink-*.jar")
        for archive in [zipfile.ZipFile(jar)]
        for name in archive.namelist()
        if name.endswith(".class") and "Options" in name
    )


def configured() -> Iterator[str]:
    """Every option of Flink that our files set."""
    yield from yaml.safe_load((INFRA / "flink" / "config.yaml").read_text("utf-8"))
    yield from flink()["flinkConfiguration"]


@NEEDS_FLINK
def test_flink_knows_every_option() -> None:
    known = options_of_flink()
    assert b"execution.checkpointing.interval" in known
    assert {name for name in configured() if name.encode() not in known} == set()
    assert b"execution.checkpointing.savepoint-dir" not in known, "an option of later versions"
