"""Compose and Kubernetes files are valid by the schemas of those who read them.

Flink's configuration is compared with the options that Flink's own classes name.
"""

import json
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from tests.deployment_files import COMPOSE, INFRA, documents, flink
from tests.engines.artifacts import DIRECTORY, missing

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
