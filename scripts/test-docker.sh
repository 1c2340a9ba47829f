#!/bin/sh
# test-docker.sh: the Docker path of package testcontainers, on a real engine.
#
# Starts a Docker engine of its own where none answers, builds an image of Postgres with pgvector from the
# distribution's packages, runs the Docker tests against it and fails if any of them did not run. Everything it starts
# it stops, everything it makes it removes, but for the packages it installs and the cached root file system below
# ${XDG_CACHE_HOME:-~/.cache}/pgweft.
#
#   SUITE     suite the image is made from         (default: trixie on Debian, noble on Ubuntu)
#   PG_MAJOR  major version of Postgres in it      (default: 17 on Debian, 16 on Ubuntu; must be packaged in SUITE)
#   GO_TEST_FLAGS  more flags for go test
#
# A cached root file system is used as it is: remove it to have later packages.
set -eu

program=test-docker
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/scripts/docker.sh"

run_tests() {
	say "running the Docker tests on $image"
	log=$work/test.log
	# The exit status of go test is kept in a file: that of a pipeline is tee's.
	{
		cd "$here"
		# shellcheck disable=SC2086 # GO_TEST_FLAGS is a list of words
		env -u DATABASE_URL -u PGWEFT_PG_BIN PGWEFT_TEST_DOCKER_IMAGE="$image" TESTCONTAINERS_RYUK_DISABLED=true \
			go test -race -count=1 -v ${GO_TEST_FLAGS:-} -run '^TestDocker' ./testcontainers && status=0 || status=$?
		echo "$status" >"$work/status"
	} 2>&1 | tee "$log"
	[ "$(cat "$work/status")" = 0 ] || die "the Docker tests failed"
	if grep -q -- '--- SKIP: TestDocker' "$log"; then
		die "a Docker test was skipped"
	fi
	grep -q -- '^--- PASS: TestDocker' "$log" || die "no Docker test ran"
	left=$(docker ps --all --quiet --filter "ancestor=$image")
	[ -z "$left" ] || die "the tests left containers behind: $left"
	say "$(grep -c -- '^--- PASS: TestDocker' "$log") Docker tests passed on $image"
}

find_engine
build_image
run_tests
