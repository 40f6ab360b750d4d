#!/bin/sh
# Prepare the data directory on the first start, then run the broker.
set -eu
/opt/kafka/bin/kafka-storage.sh format --ignore-formatted --cluster-id 5L6g3nShT-eMCtK--X86sw \
    --config /etc/radarstream/server.properties
exec /opt/kafka/bin/kafka-server-start.sh /etc/radarstream/server.properties
