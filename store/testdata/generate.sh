#!/bin/sh
# Runs generate.py, with the arguments given, in a virtual environment that has
# what requirements.txt names. The environment is kept for the next run in
# VECTORS_VENV, by default .venv beside this script. PYTHON chooses the
# interpreter it is made with, 3.11 or newer.
set -eu
cd "$(dirname "$0")"
venv=${VECTORS_VENV:-.venv}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" generate.py "$@"
