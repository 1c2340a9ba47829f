#!/usr/bin/env bash
# check.sh [PEER ...]: starts each peer on a throwaway Postgres, asks it for every operation, and compares the answers with
# what they must be. A peer is the name of a directory here, or NAME=PROGRAM, an absolute path. By default all that are here,
# and the one of PGWEFT_BENCH_GO_PEER. Postgres is found or started as for the Go tests.
set -euo pipefail
cd "$(dirname "$0")"

if [ $# -eq 0 ]; then
	set -- python js
	if [ -n "${PGWEFT_BENCH_GO_PEER:-}" ]; then
		set -- "$@" go-port="$PGWEFT_BENCH_GO_PEER"
	else
		echo "go-port: not checked: PGWEFT_BENCH_GO_PEER names no program"
	fi
fi
# Not go run: it would answer an interrupt before the program has removed its Postgres.
program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
go build -o "$program/check" ./check
"$program/check" . "$@"
