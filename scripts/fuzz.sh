#!/usr/bin/env bash
# fuzz.sh DURATION: runs every fuzz target of the repository for that long, or for so many inputs (20000x).
set -euo pipefail

grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do
	sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$dir"/*_test.go | while read -r target; do
		printf '%s %s\n' "$dir" "$target"
		go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$1"
	done
done
