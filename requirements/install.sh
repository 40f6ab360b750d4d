#!/bin/sh
# Install one lock file, and nothing that is not in it: requirements/install.sh PYTHON LOCK
#   PYTHON  the interpreter of the environment to install into
#   LOCK    development, demo, build, image-embedded or image-api
# With PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL leading to the CPU build of torch, that one is taken:
# it spares gigabytes of CUDA.
set -eu
python=$1
lock=$2
locks=$(dirname "$0")
install() {
    "$python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
        --require-hashes \
        --only-binary :all: --requirement "$locks/$1.txt"
}
if grep -q '^torch==' "$locks/$lock.txt"; then
    if ! problem=$(install torch-cpu 2>&1); then
        echo "no CPU build of torch (gigabytes of CUDA follow): $(echo "$problem" | tail -n 1)" >&2
    fi
fi
install "$lock"
# The CUDA build, whose version has no "+cpu", loads libraries that are packages of their own.
if "$python" -m pip freeze --disable-pip-version-check | grep -q '^torch==[0-9][0-9.]*$'; then
    install torch-cuda
fi
