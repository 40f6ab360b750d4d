#!/bin/sh
# Make what infra/compose.yaml needs and no repository may hold: env/*.env with passwords of its own,
# and a certificate for Kafka in env/tls, valid for two years. What is there already stays: to change
# a password, remove the files that hold it and what the service stored under it.
set -eu
umask 077
cd "$(dirname "$0")/env"

password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
chosen() { cat ./*.env 2>/dev/null | sed -n "s/^$1=\(..*\)/\1/p" | head -n 1; }
keep_or_make() {
    value=$(chosen "$1")
    echo "${value:-$(password)}"
}

postgres=$(keep_or_make POSTGRES_PASSWORD)
kafka=$(keep_or_make KAFKA_PASSWORD)
grafana=$(keep_or_make GF_SECURITY_ADMIN_PASSWORD)
for example in *.env.example; do
    file=${example%.example}
    test -e "$file" || sed \
        -e "s/^\(POSTGRES_PASSWORD\|PGPASSWORD\)=\$/&$postgres/" \
        -e "s/^KAFKA_PASSWORD=\$/&$kafka/" \
        -e "s/^GF_SECURITY_ADMIN_PASSWORD=\$/&$grafana/" "$example" >"$file"
done

if ! test -e tls/kafka.pem; then
    mkdir -p tls
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 730 \
        -subj /CN=kafka -addext subjectAltName=DNS:kafka -addext keyUsage=digitalSignature,keyCertSign \
        -keyout tls/key.new -out tls/ca.pem 2>/dev/null
    cat tls/key.new tls/ca.pem >tls/kafka.pem
    rm tls/key.new
    # Read in containers by users of their own; on this machine the directory keeps others out.
    chmod 644 tls/ca.pem tls/kafka.pem
fi
echo "made: infra/env/*.env and infra/env/tls; the keys of services you use go into infra/env/*.env" >&2
