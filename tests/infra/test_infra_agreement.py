"""What compose, Kubernetes, settings and engines say of the service and of Flink agrees."""

import re

import yaml

from radarstream.pipelines.settings import load_settings
from tests.deployment_files import (
    DOCKERFILE,
    IMAGES,
    INFRA,
    SERVICES,
    containers,
    documents,
    flink,
    policies,
    templates,
)

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
