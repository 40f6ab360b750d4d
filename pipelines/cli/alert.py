"""`radarstream alert`: a webhook call for every answer that changed."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from typer import Option

from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.webhook import Webhook
from radarstream.pipelines.cli.options import Config, Once
from radarstream.pipelines.cli.terminal import note, say
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
        bool, Option("--test", help="Send one sample alert, print the response, and stop.")
    ] = False,
) -> None:
    """Call the webhook of section `alerts` for every answer that changed.

    Alerts are sent in order and at least once; while the receiver is down they wait, and none is
    lost. What the request looks like and how to check its signature: docs/consuming.md.
    """
    settings = load_settings(config)
    alerts = settings.alerts
    if alerts.webhook is None:
        raise ConfigurationError("settings: alerts.webhook.url is not given")
    configure_logging(settings.telemetry)
    if test:
        with Webhook(alerts.webhook) as webhook:
            attempt = webhook.try_once(*sample(datetime.now(UTC)))
        answer = f"status {attempt.status}" if attempt.status is not None else attempt.failure
        say(f"the sample alert was {'' if attempt.accepted else 'not '}accepted: {answer}")
        raise typer.Exit(0 if attempt.accepted else 1)
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
    note(
        f"alerts: {counts.delivered} delivered, {counts.refused} refused, "
        f"{counts.passed_over} answers passed over, {counts.unreadable} unreadable"
    )
