"""`radarstream alert`: a webhook call for every answer that changed."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.webhook import Webhook, WebhookOptions
from radarstream.pipelines.cli.options import Config, Once
from radarstream.pipelines.cli.terminal import stderr, stdout
from radarstream.pipelines.job.alerting.alerts import Alerting, sample
from radarstream.pipelines.job.alerting.following import ANSWERS
from radarstream.pipelines.job.stopping import Stop, SystemClock
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError


def alert(
    config: Config = None,
    once: Once = False,
    test: Annotated[
        bool, typer.Option("--test", help="Send one sample alert, print the response, and stop.")
    ] = False,
) -> None:
    """Call the webhook of section `alerts` for every answer that changed.

    At least once and in order; a receiver that is down holds alerts up and loses none. What the
    request looks like and how to check its signature: docs/consuming.md.
    """
    settings = load_settings(config)
    alerts = settings.alerts
    if alerts.webhook is None:
        raise ConfigurationError("settings: alerts.webhook.url is not given")
    configure_logging(settings.telemetry)
    if test:
        try_out(alerts.webhook)
        return
    stop = Stop()
    with (
        Webhook(alerts.webhook, stop.event) as webhook,
        TopicReader(settings.kafka, [ANSWERS], start=alerts.start, group=alerts.group) as answers,
    ):
        stop.install()
        answers.commit(answers.places())  # a group that begins with the next answer has begun
        alerting = Alerting(
            answers, webhook.deliver, alerts, stopping=stop, clock=SystemClock(stop)
        )
        counts = alerting.run(drained=lambda: once and answers.at_end())
    stderr.print(
        f"alerts: {counts.delivered} delivered, {counts.refused} refused, "
        f"{counts.passed_over} answers passed over, {counts.unreadable} unreadable",
        highlight=False,
        soft_wrap=True,
    )


def try_out(options: WebhookOptions) -> None:
    """Send a sample alert once and print the receiver's answer; exit code 1 unless it accepts."""
    with Webhook(options) as webhook:
        attempt = webhook.try_once(*sample(datetime.now(UTC)))
    answer = f"status {attempt.status}" if attempt.status is not None else attempt.failure
    what = "accepted" if attempt.accepted else "not accepted"
    text = f"the sample alert was {what}: {answer}"
    stdout.print(text, markup=False, highlight=False, soft_wrap=True)
    if not attempt.accepted:
        raise typer.Exit(1)
