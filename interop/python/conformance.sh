#!/usr/bin/env bash
# conformance.sh [GROUP ...]: runs LangGraph's conformance suite, and tests of our own beside it, against the Go saver and the
# database that it shares with LangGraph's own savers; prints `name: N passed, N failed` for each capability and group. See
# README.md.
#
# It makes virtual environments in .venv and .venv-oldest beside this script, and keeps them while their requirements stay the
# same. Postgres is found or started as for the Go tests: see the documentation of package testcontainers.
#
#   PYTHON  the interpreter, 3.11 or later (default: python3)
set -euo pipefail
cd "$(dirname "$0")"

python=${PYTHON:-python3}

die() {
	printf 'conformance: %s\n' "$*" >&2
	exit 1
}

# make_venv DIRECTORY REQUIREMENTS. Made whole or not at all: the copy of the requirements, written last, says that the rest
# is there.
make_venv() {
	local venv=$1 requirements=$2
	# An interpreter that is gone, or moved, takes its environments with it.
	cmp -s "$requirements" "$venv/requirements.txt" && "$venv/bin/python" -c '' 2>/dev/null && return
	command -v "$python" >/dev/null 2>&1 ||
		die "there is no $python: install Python 3.11 or later (on Debian and Ubuntu: apt-get install python3-venv)," \
			"or set PYTHON"
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
		die "$("$python" --version) is too old, 3.11 or later is needed: set PYTHON to another"
	"$python" -c 'import ensurepip, venv' 2>/dev/null ||
		die "$python cannot make virtual environments: install its venv module (on Debian and Ubuntu:" \
			"apt-get install python3-venv)"
	rm -rf "$venv"
	"$python" -m venv "$venv"
	# Without dependencies: what the requirements do not pin is missing then, and the check says so.
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$requirements"
	"$venv/bin/python" -m pip check --quiet --disable-pip-version-check
	cp "$requirements" "$venv/requirements.txt"
}

make_venv .venv requirements.txt
make_venv .venv-oldest requirements-oldest.txt
go build -o .venv/ ./bridge ../../cmd/migrate ../../cmd/pgweft
# No traces are sent anywhere, whatever the environment says.
LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false PYTHONDONTWRITEBYTECODE=1 \
	exec .venv/bin/python conformance.py .venv/bridge "$@"
