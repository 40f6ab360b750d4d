#!/bin/sh
# Pin images by digest, as the registries tell them now. Needs docker with buildx, or crane.
#   infra/pin-images.sh        writes infra/.env from infra/images.txt; keep that file under version control
#   infra/pin-images.sh IMAGE  writes your own pushed image, such as registry.example/radarstream:0.1.0,
#                              into infra/kubernetes/kustomization.yaml
set -eu
here=$(dirname "$0")

digest() {
    if command -v crane >/dev/null; then
        found=$(crane digest "$1")
    else
        found=$(docker buildx imagetools inspect "$1" --format '{{.Manifest.Digest}}')
    fi
    if ! echo "$found" | grep -Eqx 'sha256:[0-9a-f]{64}'; then
        echo "no digest of $1: ${found:-nothing}" >&2
        exit 1
    fi
    echo "$found"
}

if [ $# -gt 0 ]; then
    file=$here/kubernetes/kustomization.yaml
    found=$(digest "$1")
    sed -e "s|^    newName: .*|    newName: ${1%:*}|" \
        -e "s|^    newTag: .*|    digest: $found|" \
        -e "s|^    digest: .*|    digest: $found|" "$file" >"$file.new"
    mv "$file.new" "$file"
    exit
fi
{
    echo "# Written by infra/pin-images.sh from images.txt."
    grep -v '^#' "$here/images.txt" | while IFS='=' read -r name image; do
        found=$(digest "$image")
        echo "$name=$image@$found"
    done
} >"$here/.env.new"
test "$(grep -c @sha256: "$here/.env.new")" -eq "$(grep -vc '^#' "$here/images.txt")"
mv "$here/.env.new" "$here/.env"
