"""`radarstream alert`: answers that changed, to a webhook and to people."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Annotated

import typer
from typer import Option

from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.notifier import Notifier
from radarstream.connectors.webhook import Attempt, Webhook
from radarstream.pipelines.cli.options import Config, Once
from radarstream.pipelines.cli.terminal import note, say
from radarstream.pipelines.job.alerting.alerts import (
    ANSWERS,
    Alert,
    AlertCounts,
    Alerting,
    Timing,
    message,
    payload,
    sample,
)
from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.settings.job import ChannelSettings, SelectedAnswers
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.times import wire_time


@dataclass(frozen=True, slots=True)
class Receiver:
    """Who is alerted to which answers, and when; `name` is "" for the webhook."""

    name: str
    group: str
    selected: SelectedAnswers
    timing: Timing
    deliver: Callable[[Sequence[Alert]], Attempt]
    try_once: Callable[[Alert], Attempt]


def alert(
    config: Config = None,
    once: Once = False,
    test: Annotated[
        bool, Option("--test", help="Send one sample alert to each receiver, say how, and stop.")
    ] = False,
) -> None:
    """Send every answer that changed to the webhook and the channels of section `alerts`.

    Alerts are sent in order and at least once; while a receiver is down, its alerts wait and none
    is lost. Receivers, formats, digests and quiet hours: docs/consuming.md.
    """
    settings = load_settings(config)
    configure_logging(settings.telemetry)
    stop = Stop()
    with ExitStack() as open_until_the_end:
        receivers = list(receivers_of(settings, stop.event, open_until_the_end))
        if not receivers:
            raise ConfigurationError("settings: alerts.webhook.url is not given, nor a channel")
        if test:
            results = [tried(receiver) for receiver in receivers]
            raise typer.Exit(0 if all(results) else 1)
        counts = alert_all(receivers, settings, stop, once=once)
    note(
        f"alerts: {counts.delivered} delivered, {counts.refused} refused, "
        f"{counts.passed_over} answers passed over, {counts.unreadable} unreadable"
    )


def receivers_of(settings: Settings, stop: Event, stack: ExitStack) -> Iterator[Receiver]:
    """Open the webhook and the channels of the settings."""
    alerts = settings.alerts
    if alerts.webhook is not None:
        hook = stack.enter_context(Webhook(alerts.webhook, stop))
        yield Receiver(
            "",
            alerts.group,
            alerts,
            Timing(),
            lambda some: hook.deliver(some[0].id, payload(some[0])),
            lambda one: hook.try_once(f"{one.id}/{wire_time(datetime.now(UTC))}", payload(one)),
        )
    for name, channel in alerts.channels.items():
        yield channel_of(name, f"{alerts.group}-{name}", channel, stop)


def channel_of(name: str, group: str, channel: ChannelSettings, stop: Event) -> Receiver:
    """Open one channel."""
    notifier = Notifier(channel.variable, stop)
    return Receiver(
        name,
        group,
        channel,
        Timing(timedelta(hours=channel.digest_hours), channel.quiet),
        lambda some: notifier.deliver(*message(some)),
        lambda one: notifier.try_once(*message([one])),
    )


def tried(receiver: Receiver) -> bool:
    """Send the sample alert and say whether the receiver has accepted it."""
    attempt = receiver.try_once(sample(datetime.now(UTC)))
    status = "" if attempt.status is None else f"status {attempt.status}"
    words = f"the sample alert was {'' if attempt.accepted else 'not '}accepted"
    named = f"{receiver.name}: " if receiver.name else ""
    said = attempt.failure or status
    say(f"{named}{words}{': ' if said else ''}{said}")
    return attempt.accepted


def alert_all(
    receivers: Sequence[Receiver], settings: Settings, stop: Stop, *, once: bool
) -> AlertCounts:
    """Serve each receiver in a thread of its own, until stopped, at the end, or one fails."""
    stop.install()
    with ThreadPoolExecutor(len(receivers)) as threads:
        serving = [threads.submit(serve, one, settings, stop, once=once) for one in receivers]
        _, unfinished = wait(serving, return_when=FIRST_EXCEPTION)
        if unfinished:
            stop.event.set()
    counts = [astuple(served.result()) for served in serving]
    return AlertCounts(*map(sum, zip(*counts, strict=True)))


def serve(receiver: Receiver, settings: Settings, stop: Stop, *, once: bool) -> AlertCounts:
    """Alert one receiver; with `once` to what is there, whatever the hour."""
    timing = replace(receiver.timing, quiet=None) if once else receiver.timing
    with TopicReader(
        settings.kafka, [ANSWERS], start=settings.alerts.start, group=receiver.group
    ) as answers:
        answers.commit(answers.places())  # a group that begins with the next answer has begun
        alerting = Alerting(
            answers, receiver.deliver, receiver.selected, timing, stopping=stop, clock=stop.clock
        )
        return alerting.run(drained=lambda: once and answers.at_end())
