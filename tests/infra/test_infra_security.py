"""Who can reach whom, and what a service that was taken over can do. Nothing here starts one.

Every rule is asked of every service, pod and policy: a new one has to keep them.
"""

import re
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from radarstream.connectors.webpages.fetching import is_public
from tests.deployment_files import (
    INFRA,
    NEVER,
    OWN,
    SERVICES,
    documents,
    flink,
    networks,
    pods,
    policies,
    templates,
)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_service_has_privileges_or_writes_beside_its_volumes(name: str) -> None:
    service = SERVICES[name]
    confined = {"read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"]}
    assert confined.items() <= service.items()
    assert service.get("cap_add", []) == (["CHOWN"] if name == "flink-volumes" else [])
    assert not {"privileged", "pid", "devices"} & service.keys()


def neighbours(name: str) -> set[str]:
    """Who shares a network with a service."""
    own = networks(SERVICES[name])
    return {other for other in SERVICES if networks(SERVICES[other]) & own} - {name}


def test_services_reach_only_those_they_need() -> None:
    """Flink's ports and the worker pool run code for whoever reaches them."""
    cluster = {"flink-jobmanager", "flink-taskmanager", "beam-workers"}
    for name, expected in {
        "beam-job-server": {"flink-jobmanager", "submission"},
        "submission": {"flink-jobmanager", "beam-job-server"},
        "flink-jobmanager": {*cluster, "submission", "beam-job-server"} - {"flink-jobmanager"},
        "beam-workers": {*cluster, "kafka", "postgres"} - {"beam-workers"},
        "grafana": {"prometheus"},
        "flink-volumes": set(),
    }.items():
        assert neighbours(name) == expected
    assert not neighbours("serve") & {"kafka", "prometheus", "grafana"}
    assert not neighbours("alerts") & {"postgres", "prometheus"}
    for reads_the_web in ("worker", "watcher", "attributor", "alerts", "serve"):
        assert not neighbours(reads_the_web) & {*cluster, "beam-job-server", "submission"}
    assert neighbours("postgres") >= {"worker", "watcher", "attributor", "beam-workers", "serve"}


def test_nothing_that_runs_code_listens_everywhere() -> None:
    flink = (INFRA / "flink" / "config.yaml").read_text("utf-8")
    binds = dict(re.findall(r"^(\S*)\.bind-\S*: (\S+)", flink, re.MULTILINE))
    assert flink.count("bind") == len(binds)
    assert binds == {"jobmanager": "flink-jm", "taskmanager": "flink-tm", "rest": "flink-rest"}
    joined = [SERVICES[name]["networks"] for name in ("flink-jobmanager", "flink-taskmanager")]
    aliases = {
        alias: network
        for networks_of in joined
        for network, options in networks_of.items()
        for alias in options.get("aliases", ())
    }
    assert aliases == {"flink-jm": "flink", "flink-tm": "flink", "flink-rest": "flink-submit"}
    for name, service in SERVICES.items():
        words = " ".join(map(str, [*service.get("entrypoint", []), *service.get("command", [])]))
        # Beam's own pool listens on every interface.
        assert not re.search(r"0\.0\.0\.0|\[::\]|worker_pool_main", words), name
        assert not any(port.endswith(":8081") for port in service.get("ports", []))
    pool = "radarstream.pipelines.beam.cluster.worker_pool"
    assert pool in SERVICES["beam-workers"]["entrypoint"]


def test_kafka_asks_for_a_password() -> None:
    text = (INFRA / "kafka" / "server.properties").read_text("utf-8")
    properties = dict(line.split("=", 1) for line in text.splitlines() if "=" in line[1:])
    listeners = dict(listener.split("://") for listener in properties["listeners"].split(","))
    protocols = dict(p.split(":") for p in properties["listener.security.protocol.map"].split(","))
    assert protocols.keys() == listeners.keys()
    for name, address in listeners.items():
        assert protocols[name] == "SASL_SSL" or address.startswith("127.0.0.1:")
    assert properties["listener.name.client.ssl.keystore.location"] in mounted("kafka")
    assert '="${env:KAFKA_PASSWORD}"' in text
    for name in (n for n in OWN if networks(SERVICES[n]) & {"kafka", "cluster-data"}):
        service = SERVICES[name]
        assert service["env_file"]
        assert service["environment"]["RADARSTREAM_KAFKA__CA_FILE"] in mounted(name)


def mounted(name: str) -> set[str]:
    return {volume.split(":")[1] for volume in SERVICES[name]["volumes"]}


def test_no_container_of_a_pod_has_privileges() -> None:
    confined = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]}}  # fmt: skip
    as_our_user = confined | {"runAsUser": 10001, "runAsGroup": 10001}
    for pod in pods():
        assert pod["automountServiceAccountToken"] is False
        given = pod["securityContext"]
        assert (given["runAsNonRoot"], given["runAsUser"] > 0) == (True, True)
        assert given["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        for container in pod["containers"] + pod.get("initContainers", []):
            beside_flink = pod["securityContext"]["runAsUser"] != 10001
            ours = beside_flink and container.get("image") == "radarstream"
            assert container["securityContext"] == (as_our_user if ours else confined)


def test_flink_pods_have_no_rights_in_kubernetes() -> None:
    assert flink()["mode"] == "standalone"
    kinds = {document.get("kind") for document in documents()}
    assert not kinds & {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
    (account,) = (d for d in documents() if d.get("kind") == "ServiceAccount")
    assert account["metadata"]["name"] == flink()["serviceAccount"]
    assert account["automountServiceAccountToken"] is False


def test_the_collector_itself_refuses_the_same() -> None:
    """Compose has no such policy: there the program alone keeps away."""
    assert not any(is_public(ip_address(address), 80) for address in NEVER)
    assert is_public(ip_address("93.184.215.14"), 80)


# --- network policies of Kubernetes ---------------------------------------------------------------


REST = 8081  # of Flink


def test_what_no_policy_allows_is_closed() -> None:
    assert policies()["nothing-else"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    (rule,) = policies()["names"]["egress"]
    assert {port["port"] for port in rule["ports"]} == {53}


def chosen(selector: dict[str, Any]) -> set[str]:
    """The pods that a selector names by their label."""
    name = "app.kubernetes.io/name"
    values = [selector["matchLabels"][name]] if name in selector.get("matchLabels", {}) else []
    for expression in selector.get("matchExpressions", ()):
        assert (expression["key"], expression["operator"]) == (name, "In")
        values += expression["values"]
    return set(values)


def connections(direction: str, side: str) -> set[tuple[str, str, int]]:
    """Pods and ports that rules between pods allow: whose policy it is, the other side, port."""
    return {
        (own, other, port["port"])
        for policy in policies().values()
        for own in chosen(policy["podSelector"])
        for rule in policy.get(direction, ())
        for target in rule[side]
        if set(target) == {"podSelector"}
        for other in chosen(target["podSelector"])
        for port in rule["ports"]
    }


def test_what_one_pod_may_ask_the_other_may_answer() -> None:
    """Rules that let a pod reach another, and those of the other that let it in, are the same."""
    going = connections("egress", "to")
    assert going == {(other, own, port) for own, other, port in connections("ingress", "from")}
    assert {pod for own, other, _ in going for pod in (own, other)} <= templates().keys()
    assert {own for own, _, port in going if port == REST} == {"radarstream-submission"}


def test_every_pod_has_a_policy() -> None:
    with_policy = [chosen(policy["podSelector"]) for policy in policies().values()]
    assert set().union(*with_policy) == templates().keys()


def reached(policy: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    (rule,) = policy["egress"]
    blocks = [target["ipBlock"] for target in rule["to"]]
    return [(ip_network(b["cidr"]), [ip_network(n) for n in b["except"]]) for b in blocks]


def allows(policy: dict[str, Any], address: str) -> bool:
    given = ip_address(address)
    return any(
        given in network and not any(given in excluded for excluded in excepted)
        for network, excepted in reached(policy)
    )


@pytest.mark.parametrize(("name", "ports"), [("watcher", {80, 443}), ("alerts", {443})])
def test_who_may_reach_the_web_reaches_nothing_private(name: str, ports: set[int]) -> None:
    policy = policies()[f"radarstream-{name}"]
    assert policy["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": f"radarstream-{name}"}
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == ports
    assert allows(policy, "93.184.215.14")
    assert allows(policy, "2606:4700::6810:84e5")
    for address in NEVER:
        assert not allows(policy, address), address
    for network, excepted in reached(policy):
        assert all(excluded.subnet_of(network) for excluded in excepted)
