#!/usr/bin/env bash
# run.sh: LangGraph's own Python saver and store as a peer of the benchmark; see ../README.md.
#
# It runs in the virtual environment of interop/python, with the versions that requirements.txt there pins, and makes it as
# conformance.sh there does where it is missing or of other versions.
#
#   PYTHON  the interpreter to make it with, 3.11 or later (default: python3)
set -euo pipefail
cd "$(dirname "$0")"

interop=../../../interop/python
venv=$interop/.venv
python=${PYTHON:-python3}

die() {
	printf 'peers/python: %s\n' "$*" >&2
	exit 1
}

# Made whole or not at all: the copy of the requirements, written last, says that the rest is there.
make_venv() {
	"$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
		die "Python 3.11 or later with its venv module is needed (on Debian and Ubuntu: apt-get install python3-venv); PYTHON" \
			"names another interpreter"
	rm -rf "$venv"
	"$python" -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$interop/requirements.txt"
	"$venv/bin/python" -m pip check --quiet --disable-pip-version-check
	cp "$interop/requirements.txt" "$venv/requirements.txt"
}

# Standard output belongs to the protocol.
cmp -s "$interop/requirements.txt" "$venv/requirements.txt" && "$venv/bin/python" -c '' 2>/dev/null || make_venv >&2
# No traces are sent anywhere, whatever the environment says.
LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" peer.py
