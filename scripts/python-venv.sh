#!/usr/bin/env bash
# python-venv.sh DIRECTORY REQUIREMENTS: a virtual environment of just what the requirements pin. It is kept while they stay the
# same, and made anew otherwise. Standard output stays empty.
#
#   PYTHON  the interpreter, 3.11 or later (default: python3)
set -euo pipefail

venv=$1 requirements=$2
python=${PYTHON:-python3}

die() {
	printf 'python-venv: %s\n' "$*" >&2
	exit 1
}

# An interpreter that is gone, or moved, takes its environments with it.
cmp -s "$requirements" "$venv/requirements.txt" && "$venv/bin/python" -c '' 2>/dev/null && exit
exec >&2
command -v "$python" >/dev/null ||
	die "there is no $python: install Python 3.11 or later (on Debian and Ubuntu: apt-get install python3-venv), or set PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
	die "$("$python" --version) is too old, 3.11 or later is needed: set PYTHON to another"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
	die "$python cannot make virtual environments: install its venv module (on Debian and Ubuntu: apt-get install python3-venv)"
rm -rf "$venv"
"$python" -m venv "$venv"
# Without dependencies: what the requirements do not pin is missing then, and the check says so.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$requirements"
"$venv/bin/python" -m pip check --quiet --disable-pip-version-check
# Made whole or not at all: the copy, written last, says that the rest is there.
cp "$requirements" "$venv/requirements.txt"
