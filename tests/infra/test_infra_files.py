"""Deployment files name what exists: commands and flags, settings, files; and hold no secret.

Nothing here starts a container.
"""

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from radarstream.pipelines.searching import search_service
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.section import read_secret
from tests.deployment_files import (
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


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - ONE_SHOT))
def test_what_stays_up_has_a_health_check(name: str) -> None:
    built_in = "HEALTHCHECK" in DOCKERFILE.read_text() if name in OWN else False
    assert SERVICES[name].get("healthcheck", {}).get("test") or built_in


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


def test_ports_are_published_on_loopback_only() -> None:
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert "ports" not in SERVICES["beam-workers"]


def test_no_secret_is_in_a_file() -> None:
    """Values of secrets are empty in examples, and absent everywhere else."""
    for example in sorted((INFRA / "env").glob("*.example")):
        for line in example.read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                assert re.fullmatch(r"[A-Z][A-Z0-9_]*=", line), f"{example.name}: {line}"
    for service in SERVICES.values():
        named = [v for v in service.get("environment", {}) if SECRET_NAME.search(v)]
        assert named == []
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
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (models,) = re.findall(r"ARG MODELS=(\S+)", text)
    assert (ROOT / "requirements" / f"image-{models}.txt").is_file()
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]
    for package in packages["build"]["targets"]["wheel"]["packages"]:
        assert f"COPY {package} {package}" in text
    users = re.findall(r"^USER (\S+)", text, re.MULTILINE)
    assert users == ["10001:10001"]
    assert text.index("USER 10001") < text.index("ENTRYPOINT")
    assert project["version"] in text
    for service in OWN:
        assert SERVICES[service]["image"].endswith(f":{project['version']}")


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
    for document in yaml.safe_load_all(built.stdout):
        if document["kind"] != "FlinkDeployment":
            kubernetes_validate.validate(
                document, kubernetes_validate.latest_version(), strict=True
            )
    assert "image: radarstream\n" not in built.stdout, "an image that kustomize does not replace"


def test_whoever_serves_metrics_is_scraped_and_probed() -> None:
    """`alert` alone has no port; compose and Kubernetes run the same commands that stay up."""
    commands = set()
    for deployment in deployments():
        template = deployment["spec"]["template"]
        labels = deployment["spec"]["selector"]["matchLabels"]
        assert template["metadata"]["labels"] == labels
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
    given = subprocess.run(
        ["/bin/sh", script, "--print-options"], env=environment, capture_output=True, text=True
    ).stdout.splitlines()
    check_command(given)
    assert given[given.index("--job-endpoint") + 1] == "server:8099"
    assert given[given.index("--savepoint") + 1] == ""
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
    allowed = {
        p["port"] for rule in policies()["radarstream-serve"]["ingress"] for p in rule["ports"]
    }
    assert allowed == set(ports.values())
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
    for name in (
        "env.java.opts.all",
        "state.backend.type",
        "state.checkpoints.dir",
        "state.savepoints.dir",
    ):
        assert composed[name] == spec["flinkConfiguration"][name]
    mounts = {
        m["mountPath"]
        for m in spec["taskManager"]["podTemplate"]["spec"]["containers"][0]["volumeMounts"]
    }
    assert {"/flink", "/beam-staging", "/tmp"} <= mounts  # noqa: S108 a mount of the container
