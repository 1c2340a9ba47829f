#!/usr/bin/env bash
# upgrade.sh: raises what requirements.txt pins to the newest releases, and what those need with them. Look at the difference, then
# run conformance.sh. requirements-oldest.txt stays: it is the oldest release on purpose.
#
#   PYTHON  the interpreter, 3.11 or later (default: python3)
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What was chosen stands above the line that begins what that needs.
sed '/^# What those need/,$d' requirements.txt >"$work/head"
mapfile -t chosen < <(sed -n 's/^\([A-Za-z0-9_.-]*\)==.*/\1/p' "$work/head")
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "${chosen[@]}"
"$work/venv/bin/python" -m pip freeze --disable-pip-version-check >"$work/frozen"

{
	while IFS= read -r line; do
		name=${line%%==*}
		if [[ $line == *==* && $line != \#* ]]; then
			grep -i "^$name==" "$work/frozen"
		else
			printf '%s\n' "$line"
		fi
	done <"$work/head"
	printf '# What those need.\n'
	grep -viE "^($(IFS='|'; printf '%s' "${chosen[*]}"))==" "$work/frozen"
} >"$work/requirements.txt"
mv "$work/requirements.txt" requirements.txt
git --no-pager diff --stat -- requirements.txt || true
