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
python=${PYTHON:-python3}

die() {
	printf 'interop-js: %s\n' "$*" >&2
	exit 1
}

# Made whole or not at all: the copy of the lock file, written last, says that the rest is there.
install_packages() {
	command -v npm >/dev/null 2>&1 || die "there is no npm: install Node.js 20 or later, with npm"
	node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' ||
		die "node $(node --version) is too old, 20 or later is needed"
	npm ci --loglevel=error
	cp package-lock.json node_modules/.installed-lock.json
}

make_venv() {
	"$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
		die "Python 3.11 or later with its venv module is needed (on Debian and Ubuntu: apt-get install python3-venv); PYTHON" \
			"names another interpreter"
	rm -rf "$venv"
	"$python" -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r ../python/requirements.txt
	cp ../python/requirements.txt "$venv/requirements.txt"
}

cmp -s package-lock.json node_modules/.installed-lock.json || install_packages
cmp -s ../python/requirements.txt "$venv/requirements.txt" && "$venv/bin/python" -c '' 2>/dev/null || make_venv
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
