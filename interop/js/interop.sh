#!/usr/bin/env bash
# interop.sh [VITEST ARGUMENT ...]: runs LangGraph's JavaScript against pgweft, and prints `name: N passed, N failed` for each
# part. See README.md.
#
# It installs what package-lock.json says into node_modules beside this script, and keeps it while that stays the same. The
# Python that shares threads is the environment of ../python. Postgres is found or started as for the Go tests: see the
# documentation of package testcontainers.
#
#   PYTHON  the interpreter to make that environment with, 3.11 or later (default: python3)
set -euo pipefail
cd "$(dirname "$0")"

venv=../python/.venv

die() {
	printf 'interop-js: %s\n' "$*" >&2
	exit 1
}

../../scripts/node-packages.sh .
../../scripts/python-venv.sh "$venv" ../python/requirements.txt
go build -o node_modules/.goside ./goside
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# No traces are sent anywhere, whatever the environment says.
export LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false PYTHONDONTWRITEBYTECODE=1
export PGWEFT_GOSIDE="$PWD/node_modules/.goside" PGWEFT_PYTHON="$venv/bin/python"
status=0
npx --no-install tsc --noEmit || status=$?
NO_COLOR=1 npx --no-install vitest run --reporter=default --reporter=json --outputFile.json="$report" "$@" || status=$?
[ -s "$report" ] || die "vitest did not run"
node summary.mjs "$report" || status=$?
exit "$status"
