"""What the service counts, for Prometheus, in the style of the job; no user names, no texts."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from radarstream.pipelines.job.telemetry.metrics import Metrics
from radarstream.schemas.orchestration import Module, RiskLevel
from radarstream.schemas.support import AnswerStatus

OVERHEAD: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class ServingMetrics(Metrics):
    """What `radarstream serve` exports."""

    def __init__(self) -> None:
        super().__init__()
        add = self.add
        self.requests = add(
            Counter, "http_requests", "Requests, by route and status", ("route", "status")
        )
        self.durations = add(
            Histogram,
            "http_request_duration_seconds",
            "From a request to the end of its response",
            "route",
            buckets=OVERHEAD,
        )
        self.in_hand = add(Gauge, "http_requests_in_hand", "Requests that are handled now")
        self.refused = add(
            Counter,
            "http_requests_refused",
            "Requests refused before a route saw them, by reason",
            "reason",
            ("busy", "host", "size", "slow"),
        )
        self.replies = add(
            Counter,
            "replies",
            "Replies to questions, by what the answer rests on",
            "status",
            [status.value for status in AnswerStatus],
        )
        self.asking = add(Histogram, "question_duration_seconds", "From a question to its reply")
        self.failures = add(
            Counter, "question_failures", "Questions without a reply, by kind of error", "code"
        )
        self.risks = add(
            Counter,
            "question_risks",
            "Questions by the Sentinel's last level",
            "level",
            [level.value for level in RiskLevel],
        )
        self.modules = add(
            Counter,
            "question_modules",
            "Questions that a module acted on",
            "module",
            [module.value for module in Module],
        )
        self.followers = add(Gauge, "event_streams", "Open streams of /events")
