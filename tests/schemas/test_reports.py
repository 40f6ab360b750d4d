"""Names of reporters: nobody's may look like another's."""

import json

import pytest

from schemas.codec import decode_report
from schemas.errors import InputError


@pytest.mark.parametrize(
    "name", [" ", "ada ", "ada\xa0lovelace", "ada  lovelace", "\u3164", "ada\u2800", "a\u115fda"]
)
def test_white_space_and_fillers_make_no_other_name(name: str) -> None:
    report = {"schema": "answer.reported/1", "reporter": name, "query_id": "cup"}
    report["reported_at"] = "2025-06-01T12:00:00Z"
    with pytest.raises(InputError, match="do not show"):
        decode_report(json.dumps(report).encode(), now=None)
    report["reporter"] = "Ada Lovelace"
    assert decode_report(json.dumps(report).encode(), now=None).reporter == "Ada Lovelace"
