#!/usr/bin/env bash
# check-tests-ran.sh REPORT: reads the JSON report of a test run, and fails when tests did not run that should have:
# a package that has tests ran none, or a test was skipped that may not be. Says how many ran.
set -euo pipefail

report=$1

# Skipped here for a reason the test itself gives; scripts/test-docker.sh runs the first group and fails if it did not.
may_skip='^TestDocker|^TestWithoutAnEngine$'

ran=$(grep -c '"Action":"pass".*"Test":' "$report" || true)
skipped=$(grep '"Action":"skip".*"Test":' "$report" | sed -E 's/.*"Test":"([^"]+)".*/\1/' | grep -Ev "$may_skip" || true)

status=0
if [ -n "$skipped" ]; then
	printf 'check-tests-ran: skipped, and may not be:\n%s\n' "$skipped" >&2
	status=1
fi
while read -r package; do
	if ! grep -q "\"Action\":\"pass\",\"Package\":\"$package\",\"Test\":" "$report"; then
		printf 'check-tests-ran: %s has tests, and none of them passed\n' "$package" >&2
		status=1
	fi
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | sed '/^$/d')

printf '%s tests passed.\n' "$ran"
exit "$status"
