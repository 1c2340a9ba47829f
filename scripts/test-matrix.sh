#!/usr/bin/env bash
# test-matrix.sh: every test on every supported version of Postgres, and a table of how it went.
#
# A version comes from this machine's binaries (which scripts/install-postgres.sh installs) or from a container: an image built
# from a suite of Debian, on a Docker engine that is started where none answers. See scripts/docker.sh for what is kept.
#
#   MATRIX         versions and where they come from  (default: "15:local 17:trixie 18:sid")
#   GO_TEST_FLAGS  more flags for go test, such as -race
#   PACKAGES       what to test                       (default: ./...)
#
# The table goes to standard output last, in Markdown; the exit code is 1 when a test failed, or did not run.
set -euo pipefail

program=test-matrix
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/scripts/docker.sh"
cd "$here"

GOTESTSUM_VERSION=$(sed -n 's/^GOTESTSUM_VERSION := //p' Makefile)
packages=${PACKAGES:-./...}
failed=no
rows=()

# run_suite ENV...: the tests, with that environment; the report is in $work/report.json.
run_suite() {
	# shellcheck disable=SC2086 # GO_TEST_FLAGS and PACKAGES are lists of words
	env -u DATABASE_URL -u PGWEFT_PG_BIN -u PGWEFT_TEST_DOCKER_IMAGE "$@" \
		go run "gotest.tools/gotestsum@$GOTESTSUM_VERSION" --format pkgname-and-test-fails --jsonfile "$work/report.json" \
		-- -count=1 -shuffle=on -timeout 60m ${GO_TEST_FLAGS:-} $packages
}

counted() { # counted ACTION: tests of the report that ended so
	grep -c "\"Action\":\"$1\".*\"Test\":" "$work/report.json" || true
}

# row NAME SOURCE SUITE-STATUS: adds a row to the table.
row() {
	local result=passed
	if [ "$3" != 0 ]; then
		result=failed failed=yes
	elif [ "$packages" = ./... ] && ! scripts/check-tests-ran.sh "$work/report.json"; then
		result=incomplete failed=yes
	fi
	rows+=("| $1 | $2 | $result | $(counted pass) | $(counted fail) | $(counted skip) |")
}

# Clients have to be as new as the server, above all pg_dump; those of the image are.
make_clients() {
	mkdir -p "$work/clients"
	for client in psql pg_dump pg_dumpall pg_restore; do
		cat >"$work/clients/$client" <<-CLIENT
			#!/bin/sh
			exec docker run --rm --interactive --network host --env PGOPTIONS --volume /tmp:/tmp --entrypoint "\$(basename "\$0")" \\
				--workdir / $image "\$@"
		CLIENT
		chmod 755 "$work/clients/$client"
	done
}

package_version() { docker run --rm --network none "$image" dpkg-query --showformat '${Version}' --show "$1" | sed -E 's/-[^-]*$//'; }

in_container() { # in_container MAJOR SUITE
	PG_MAJOR=$1 SUITE=$2
	find_engine_once
	build_image
	make_clients
	say "running the tests on PostgreSQL $PG_MAJOR of $SUITE"
	local status=0
	run_suite PGWEFT_TEST_DOCKER_IMAGE="$image" PGWEFT_TEST_CLIENTS="$work/clients" TESTCONTAINERS_RYUK_DISABLED=true || status=$?
	row "$(package_version "postgresql-$PG_MAJOR")" \
		"container of Debian $SUITE, pgvector $(package_version "postgresql-$PG_MAJOR-pgvector"), pg_cron $(package_version "postgresql-$PG_MAJOR-cron")" "$status"
	local left
	left=$(docker ps --all --quiet --filter "ancestor=$image")
	if [ -n "$left" ]; then
		say "the tests left containers behind: $left"
		failed=yes
	fi
}

engine_found=no
find_engine_once() {
	[ "$engine_found" = no ] || return 0
	find_engine
	engine_found=yes
}

extension_version() { sed -n "s/^default_version *= *'\(.*\)'/\1/p" "/usr/share/postgresql/$1/extension/$2.control"; }

on_this_machine() { # on_this_machine MAJOR
	PG_MAJOR=$1 scripts/install-postgres.sh
	PG_MAJOR=$1 scripts/install-pg-cron.sh
	local bin=/usr/lib/postgresql/$1/bin status=0
	say "running the tests on this machine's PostgreSQL $1"
	run_suite PGWEFT_PG_BIN="$bin" || status=$?
	row "$("$bin/postgres" --version | sed -E 's/.*\) ([0-9.]+).*/\1/')" \
		"this machine's packages, pgvector $(extension_version "$1" vector), pg_cron $(extension_version "$1" pg_cron)" "$status"
}

scripts/install-pgbouncer.sh --if-needed
for entry in ${MATRIX:-15:local 17:trixie 18:sid}; do
	major=${entry%%:*} source=${entry#*:}
	case $source in
	local) on_this_machine "$major" ;;
	*) in_container "$major" "$source" ;;
	esac
done

printf '\n| PostgreSQL | from | suite | passed | failed | skipped |\n|---|---|---|---|---|---|\n'
printf '%s\n' "${rows[@]}"
[ "$failed" = no ]
