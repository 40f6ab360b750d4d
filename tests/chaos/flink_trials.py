"""The trials on a Flink cluster, by name."""

from tests.chaos import flink_checkpoints, flink_figures, flink_promises, flink_run, workers
from tests.chaos.trials import Trial, needs_flink

TRIALS = {
    "deaths": Trial(flink_run.run_flink, flink_run.Size(), flink_run.SHORT, needs_flink),
    "promises": Trial(
        flink_promises.run_promises, flink_promises.Size(), flink_promises.SHORT, needs_flink
    ),
    "figures": Trial(flink_figures.run_figures, workers.Size(), workers.SHORT, needs_flink),
    "checkpoints": Trial(
        flink_checkpoints.run_checkpoints,
        flink_checkpoints.Size(),
        flink_checkpoints.SHORT,
        needs_flink,
    ),
}
