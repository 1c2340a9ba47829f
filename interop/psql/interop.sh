#!/usr/bin/env bash
# interop.sh: runs the conversation of README.md by psql, and prints `name: N passed, N failed`, a number for each block. Postgres
# is found or started as for the other Go tests: see the documentation of package testcontainers.
set -euo pipefail
cd "$(dirname "$0")/../.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
go test ./docs -run '^TestTheConversationByPsqlDoesWhatItSays$' -count=1 -v >"$log" 2>&1 || status=$?
count() { grep -c -E "^ *--- $1: TestTheConversationByPsqlDoesWhatItSays/line_" "$log" || true; }
passed=$(count PASS) failed=$(count FAIL) skipped=$(count SKIP)
[ "$status" = 0 ] || cat "$log" >&2
printf 'the conversation by psql: %s passed, %s failed\n' "$passed" "$failed"
if [ "$passed" = 0 ] || [ "$skipped" != 0 ]; then
	printf 'interop-psql: %s blocks ran, %s were skipped\n' "$passed" "$skipped" >&2
	exit 1
fi
exit "$status"
