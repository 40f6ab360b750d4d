"""What the deployment files say: services of compose, pods and policies of Kubernetes."""

import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
INFRA = ROOT / "infra"
DOCKERFILE = INFRA / "worker.Dockerfile"
IMAGES = dict(
    line.split("=")
    for line in (INFRA / "images.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
COMPOSE: dict[str, Any] = yaml.safe_load((INFRA / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OWN = {name for name, service in SERVICES.items() if service["image"].startswith("radarstream:")}
ONE_SHOT = {"topics", "submission", "flink-volumes"}
MANIFESTS = sorted((INFRA / "kubernetes").glob("*.yaml"))
# Addresses that pages may not lead to.
NEVER = (  # private, link-local, metadata of clouds (the last five), and what carries IPv4 in IPv6
    *("10.1.2.3", "172.16.9.9", "192.168.1.1", "127.0.0.1", "0.0.0.0", "224.0.0.1", "fe80::1"),
    *("fc00::1", "fec0::1", "::1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:a00:1::"),
    *("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
)


def image(service: dict[str, Any]) -> str:
    """The image as images.txt names it; ours by itself."""
    found = re.fullmatch(r"\$\{(\w+):\?[^}]+\}", service["image"])
    return IMAGES[found[1]] if found else str(service["image"])


def networks(service: dict[str, Any]) -> set[str]:
    """The networks of a service, also those that it shares with another one."""
    shared = service.get("network_mode", "")
    if shared.startswith("service:"):
        return networks(SERVICES[shared.removeprefix("service:")])
    return set(service.get("networks", ()))


@cache
def parsed() -> list[dict[str, Any]]:
    """What the manifests hold, to be copied before it is changed."""
    texts = (manifest.read_text("utf-8") for manifest in MANIFESTS)
    return [document for text in texts for document in yaml.safe_load_all(text)]


def documents() -> list[dict[str, Any]]:
    return deepcopy(parsed())


def deployments() -> list[dict[str, Any]]:
    return [d for d in documents() if d.get("kind") == "Deployment"]


def flink() -> dict[str, Any]:
    """The specification of the cluster that the Flink Kubernetes operator keeps."""
    (found,) = (d for d in documents() if d.get("kind") == "FlinkDeployment")
    return dict(found["spec"])


def templates() -> dict[str, dict[str, Any]]:
    """Every template of pods, by the name in its labels."""
    given = [d["spec"]["template"] for d in deployments()]
    given += [flink()[part]["podTemplate"] for part in ("jobManager", "taskManager")]
    return {t["metadata"]["labels"]["app.kubernetes.io/name"]: t for t in given}


def pods() -> list[dict[str, Any]]:
    return [template["spec"] for template in templates().values()]


def containers() -> list[dict[str, Any]]:
    return [c for pod in pods() for c in pod["containers"] + pod.get("initContainers", [])]


def own_containers() -> list[dict[str, Any]]:
    """Those of our image; the others are Flink's and Beam's."""
    return [container for container in containers() if container.get("image") == "radarstream"]


def policies() -> dict[str, dict[str, Any]]:
    """The specifications of the network policies by name."""
    found = [d for d in documents() if d.get("kind") == "NetworkPolicy"]
    return {policy["metadata"]["name"]: policy["spec"] for policy in found}
