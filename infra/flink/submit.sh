#!/bin/sh
# Hand the job to the job server of a Flink cluster and return. Further options go to
# `radarstream submit`, for example --print-options. Environment:
#   JOB_SERVER   host:port of Beam's Flink job server
#   PARALLELISM  subtasks of every step; at most the cluster's task slots
#   SAVEPOINT    go on from this savepoint, for example one that stop.sh made
set -eu
exec radarstream submit \
    --job-endpoint "${JOB_SERVER:?host:port of the job server}" \
    --environment EXTERNAL \
    --worker-pool localhost:50000 \
    --parallelism "${PARALLELISM:-2}" \
    --savepoint "${SAVEPOINT:-}" \
    --detach \
    "$@"
