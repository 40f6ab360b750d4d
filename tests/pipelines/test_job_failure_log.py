"""How the log says why the job ended."""

import pytest
from structlog.testing import capture_logs

from pipelines.job.running import tell
from schemas.errors import BrokerError, ConfigurationError


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (ConfigurationError("kafka.ca_file: no file x"), "kafka.ca_file: no file x"),
        (BrokerError("foreign words"), "the broker failed or does not answer"),
        (KeyError("foreign words"), None),
    ],
)
def test_frames_are_for_defects_only(error: Exception, detail: str | None) -> None:
    with capture_logs() as said:
        tell(error)
    (line,) = said
    assert line.get("detail") == detail
    assert ("error" in line) == (detail is None)  # of which the frames are made
