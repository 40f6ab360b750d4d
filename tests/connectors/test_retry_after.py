"""Retry-After, as numbers and dates, from services of any kind."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.retry_after import LONGEST_S, retry_after_s

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def test_retry_after_is_read() -> None:
    for value, seconds in [
        ("0", 0), ("120", 120), ("0.6", 0.6), ("", None), ("soon", None), ("-5", None),
        ("1e9", None), ("9" * 400, LONGEST_S), ("Sun, 01 Jun 2025 12:01:30 GMT", 90),
        ("Sun, 01 Jun 2025 11:00:00 GMT", 0), ("Sun, 01 Jun 2025 12:01:30 -0000", 90),
        ("Sun, 01 Jun 9999 12:00:00 GMT", LONGEST_S),
    ]:  # fmt: skip
        assert retry_after_s({"retry-after": value}, NOW) == seconds
    headers = {
        "retry-after": "Sun, 01 Jun 2025 12:01:30 GMT",
        "date": "Sun, 01 Jun 2025 12:01:00 GMT",
    }
    assert retry_after_s(headers, NOW) == 30.0


@given(st.text())
def test_retry_after_never_harms(value: str) -> None:
    found = retry_after_s({"retry-after": value, "date": value}, NOW)
    assert found is None or 0.0 <= found <= LONGEST_S
