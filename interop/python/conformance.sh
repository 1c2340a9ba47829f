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

../../scripts/python-venv.sh .venv requirements.txt
../../scripts/python-venv.sh .venv-oldest requirements-oldest.txt
go build -o .venv/ ./bridge ../../cmd/migrate ../../cmd/pgweft
# No traces are sent anywhere, whatever the environment says.
LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false PYTHONDONTWRITEBYTECODE=1 \
	exec .venv/bin/python conformance.py .venv/bridge "$@"
