#!/usr/bin/env bash
# bench-go.sh VERSION: runs the benchmarks of go test that BENCH names, COUNT times each, and has benchstat of that version compare
# them with the committed figures of this tree. The new figures are left in OUT, where that is given.
set -euo pipefail
cd "$(dirname "$0")/.."

bench=${BENCH:-^Benchmark(Get|List|Put|PutWrites|Dump|Load|(Checkpoint|Metadata)(M|Unm)arshalJSON)\$}
out=${OUT:-$(mktemp)}
if [[ -z ${OUT:-} ]]; then trap 'rm -f "$out"' EXIT; fi

# One package at a time: two at once would measure each other.
go test -p 1 ./checkpoint ./serde ./pgsaver ./sql -run '^$' -bench "$bench" -count "${COUNT:-6}" -benchtime "${BENCHTIME:-1s}" \
	-timeout 2h | tee "$out"
if ! grep -q '^Benchmark' "$out"; then
	echo "bench-go: no benchmark is called $bench" >&2
	exit 1
fi
go run "golang.org/x/perf/cmd/benchstat@$1" committed=bench/go/after.txt now="$out"
