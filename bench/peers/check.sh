#!/usr/bin/env bash
# check.sh [PEER ...]: starts each peer on a throwaway Postgres, asks it for every operation, and compares the answers with
# what they must be. All of them by default. Postgres is found or started as for the Go tests.
set -euo pipefail
cd "$(dirname "$0")"

if [ $# -eq 0 ]; then
	set -- python js
fi
# Not go run: it would answer an interrupt before the program has removed its Postgres.
program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
go build -o "$program/check" ./check
"$program/check" . "$@"
