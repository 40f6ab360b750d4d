"""What the network policies of Kubernetes let in and out."""

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from tests.deployment_files import NEVER, policies, templates

REST = 8081  # of Flink


def test_what_no_policy_allows_is_closed() -> None:
    closed = policies()["nothing-else"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
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
    coming = {(other, own, port) for own, other, port in connections("ingress", "from")}
    assert going == coming
    assert {pod for own, other, _ in going for pod in (own, other)} <= templates().keys()
    assert {(own, port) for own, _, port in going if port == REST} == {
        ("radarstream-submission", REST)
    }


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
