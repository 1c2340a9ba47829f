#!/usr/bin/env bash
# run.sh: LangGraph's own Python saver and store as a peer of the benchmark; see ../README.md.
#
# It runs in the virtual environment of interop/python, with the versions that requirements.txt there pins.
#
#   PYTHON  the interpreter to make it with, 3.11 or later (default: python3)
set -euo pipefail
cd "$(dirname "$0")"

interop=../../../interop/python

../../../scripts/python-venv.sh "$interop/.venv" "$interop/requirements.txt"
# No traces are sent anywhere, whatever the environment says.
LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false PYTHONDONTWRITEBYTECODE=1 exec "$interop/.venv/bin/python" peer.py
