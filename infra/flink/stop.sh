#!/bin/sh
# Stop the job with a savepoint and print where it is. Usage: stop.sh JOB_ID
# JOB_ID is in the job manager's web page and in `flink list`.
set -eu
exec docker compose --file "$(dirname "$0")/../compose.yaml" --profile cluster \
    exec flink-jobmanager flink stop --savepointPath file:///flink/savepoints "${1:?job id}"
