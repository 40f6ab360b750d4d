"""What the console's page for questions shows is what the audit let through."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from radarstream.connectors.state_table.serving.users import add_user
from radarstream.pipelines.serving.app import create_app
from radarstream.schemas.support import Support
from radarstream.schemas.users import Role
from tests.pipelines.serving.console_rig import answered, asker, client_of, seeded, settings_of

NOW_MS = 1_750_000_000_000
MASKED = "Call [personal data]."


def page_for(tmp_path: Path, role: Role, origin: str) -> str:
    """What a user with this role and that of asking is shown."""
    settings, (event, snapshot) = settings_of(tmp_path), answered()
    verdict, support = event.verdict, Support(2, 1, rival_answer="RIVAL SECRET")
    told = tuple(replace(one, atomic_answer="ATOMIC SECRET") for one in verdict.documents)
    verdict = replace(verdict, documents=told)
    event = replace(event, answer="ANSWER SECRET", verdict=verdict, support=support)
    documents = tuple(replace(one, text="TEXT SECRET") for one in snapshot.documents)
    masked = "" if origin.endswith("passed") else MASKED
    asking = asker(event, replace(snapshot, documents=documents), masked)
    engine = seeded(settings)
    token = add_user(engine, "eve", {Role.ASK, role}, NOW_MS)
    with client_of(create_app(settings, asking, engine)) as client:
        assert client.post("/console/sign-in", data={"token": token}).status_code == 303
        csrf = client.get("/console/ask").text.partition('name="csrf" value="')[2][:64]
        form = {"csrf": csrf, "question": "Who?", "origin": origin.partition(" ")[0]}
        sent: httpx.Response = client.post("/console/ask", data=form)
    assert sent.status_code == 200
    return sent.text


def test_the_page_shows_no_answer_that_the_audit_changed(tmp_path: Path) -> None:
    shown = page_for(tmp_path, Role.OPERATE, "corpus")
    assert MASKED in shown and "ANSWER SECRET" not in shown


@pytest.mark.parametrize("origin", ["corpus", "corpus, passed", "search"])
def test_who_may_only_ask_reads_no_document_here_either(tmp_path: Path, origin: str) -> None:
    shown = page_for(tmp_path, Role.ASK, origin.replace(",", ""))
    assert not any(f"{word} SECRET" in shown for word in ("TEXT", "ATOMIC", "RIVAL"))


@pytest.mark.parametrize(
    ("role", "origin"), [(Role.OPERATE, "corpus"), (Role.ASK, "search passed")]
)
def test_operators_read_the_evidence_and_the_web_is_no_secret(tmp_path, role, origin) -> None:
    shown = page_for(tmp_path, role, origin)
    assert all(f"{word} SECRET" in shown for word in ("TEXT", "ATOMIC", "RIVAL"))


LIMA = ("Lima is the capital of Peru.", "Every atlas says that the capital of Peru is Lima.")


def test_a_claim_is_checked_on_a_page_of_its_own(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, orchestration={"policy": "none", "always": ()})
    engine = seeded(settings)
    token = add_user(engine, "eve", {Role.ASK}, NOW_MS)
    with client_of(create_app(settings, engine=engine)) as client:
        client.post("/console/sign-in", data={"token": token})
        empty = client.get("/console/check").text
        assert '<label for="question">Claim</label>' in empty and "Check a claim once." in empty
        csrf = empty.partition('name="csrf" value="')[2][:64]

        def check(claim: str, **more: str) -> httpx.Response:
            given = {"csrf": csrf, "question": claim, "text": LIMA[0], "withstand": "0"} | more
            return client.post("/console/check", data=given)

        shown = check("Cusco is the capital of Peru.").text
        assert "Refuted: no site supports it, 1 contradicts it" in shown
        assert "The claim says Cusco; the answer: Lima" in shown
        assert "This is wrong" not in shown
        for claim, why in (
            (" ", "Please type a claim."),
            ("x" * 2_001, "Please type a claim."),
            ("Lima is not old.", "denies something"),
        ):
            refused = check(claim)
            assert (refused.status_code, why in refused.text) == (400, True)
        assert "script&gt;" in check("<script>x</script> is not old.").text
