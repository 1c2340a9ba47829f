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

here=$(cd "$(dirname "$0")/.." && pwd)

say() { printf 'test-docker: %s\n' "$*"; }
die() { printf 'test-docker: error: %s\n' "$*" >&2; exit 1; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		die "root is needed for: $* (run this script as root, or install sudo)"
	fi
}

install_missing() { # install_missing COMMAND PACKAGE...: installs the packages unless the command is there
	command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] && return 0
	shift
	command -v apt-get >/dev/null 2>&1 || die "please install: $*"
	say "installing: $*"
	as_root apt-get -q update
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends "$@"
}

distribution() { (. /etc/os-release && printf '%s\n' "${ID:-unknown}"); }

case $(distribution) in
ubuntu)
	origin=Ubuntu components=main,universe keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
	: "${SUITE:=noble}" "${PG_MAJOR:=16}"
	;;
*)
	origin=Debian components=main keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	: "${SUITE:=trixie}" "${PG_MAJOR:=17}"
	;;
esac

PATH=$PATH:/usr/sbin:/sbin
image=pgweft-test-postgres:$PG_MAJOR-$SUITE
work=$(mktemp -d /tmp/pgweft-docker.XXXXXX)
engine_log=$work/dockerd.log
engine_pid=$work/engine.pid
engine_started=no
bridge_made=no
image_made=no

cleanup() {
	status=$?
	trap - EXIT
	trap '' INT TERM
	if [ "$image_made" = yes ] && [ "$engine_started" = no ]; then
		docker image rm "$image" >/dev/null || true
	fi
	stop_engine
	as_root rm -rf "$work" || say "could not remove $work"
	exit "$status"
}

engine_runs() { [ -s "$engine_pid" ] && as_root kill -0 "$(cat "$engine_pid")" 2>/dev/null; }

signal_engine() { as_root kill -s "$1" "$(cat "$engine_pid")" 2>/dev/null || true; }

stop_engine() {
	[ "$engine_started" = yes ] || return 0
	say "stopping the engine"
	waited=0
	until [ -s "$engine_pid" ] || [ "$waited" -ge 20 ]; do
		waited=$((waited + 1))
		sleep 0.1
	done
	signal_engine TERM
	waited=0
	while engine_runs; do
		waited=$((waited + 1))
		if [ "$waited" -eq 150 ]; then
			say "the engine did not stop, killing it"
			signal_engine KILL
		fi
		[ "$waited" -lt 200 ] || break
		sleep 0.2
	done
	[ "$bridge_made" = no ] || as_root ip link delete docker0 2>/dev/null || true
}

engine_answers() { timeout 10 docker info >/dev/null 2>&1; }

# A private engine: its own data, state, socket and pid file, so that no engine of the machine is disturbed. It leaves
# the packet filter and forwarding alone: published ports go through Docker's proxy, and the containers need no network
# beyond that.
start_engine() {
	say "no Docker engine answers: starting one in $work"
	install_missing dockerd docker.io
	install_missing docker docker-cli
	install_missing ip iproute2
	ip link show docker0 >/dev/null 2>&1 || bridge_made=yes
	DOCKER_HOST=unix://$work/docker.sock
	# Where the ports are published; otherwise a machine that is itself a container is taken for one beside the engine.
	TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1
	export DOCKER_HOST TESTCONTAINERS_HOST_OVERRIDE
	engine_started=yes
	# In a session of its own, so that an interrupt of this script reaches it through cleanup only.
	as_root setsid --fork sh -c 'log=$1 pid=$2 && shift 2 && echo $$ >"$pid" && exec dockerd "$@" >"$log" 2>&1' \
		sh "$engine_log" "$engine_pid" --host "$DOCKER_HOST" --group "$(id -gn)" \
		--data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/dockerd.pid" \
		--iptables=false --ip6tables=false --ip-forward=false --ip-masq=false
	waited=0
	until engine_answers; do
		waited=$((waited + 1))
		if [ "$waited" -gt 150 ] || { [ "$waited" -gt 10 ] && ! engine_runs; }; then
			as_root tail -n 20 "$engine_log" >&2
			die "the Docker engine did not start"
		fi
		sleep 0.2
	done
	chmod 711 "$work"
}

archive() {
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
		sed -n "s/^$origin|$origin|//p" | head -n 1
}

build_rootfs() { # build_rootfs TARBALL
	install_missing debootstrap debootstrap
	mirror=$(archive)
	if [ -z "$mirror" ]; then
		as_root apt-get -q update
		mirror=$(archive)
	fi
	[ -n "$mirror" ] || die "no $origin archive among this machine's apt sources to build the image from"
	root=$work/rootfs
	say "building a root file system: $SUITE with PostgreSQL $PG_MAJOR and pgvector"
	# A release younger than this machine's debootstrap is bootstrapped the way sid is.
	script=
	[ -e "/usr/share/debootstrap/scripts/$SUITE" ] || script=/usr/share/debootstrap/scripts/sid
	# shellcheck disable=SC2086 # $script is one word or none
	as_root debootstrap --variant=minbase --components="$components" --keyring="$keyring" \
		--include="postgresql-$PG_MAJOR,postgresql-$PG_MAJOR-pgvector" "$SUITE" "$root" "$mirror" $script \
		>"$work/debootstrap.log" 2>&1 || {
		tail -n 20 "$work/debootstrap.log" >&2
		die "debootstrap failed: is postgresql-$PG_MAJOR-pgvector packaged in $SUITE?"
	}
	as_root sh -c 'cd "$1" && rm -rf var/lib/apt/lists/* var/cache/apt/* var/lib/postgresql/*/main usr/share/doc/* \
		usr/share/man/*' sh "$root"
	mkdir -p "$(dirname "$1")"
	as_root tar -C "$root" --one-file-system --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -c . |
		gzip -1 >"$1.part"
	mv "$1.part" "$1"
	as_root rm -rf "$root"
}

build_image() {
	tarball=${XDG_CACHE_HOME:-$HOME/.cache}/pgweft/rootfs-$SUITE-postgresql-$PG_MAJOR-$(uname -m).tar.gz
	if [ -f "$tarball" ]; then
		say "using the cached $tarball"
	else
		build_rootfs "$tarball"
	fi
	gzip -dc "$tarball" >"$work/image.tar"
	tar -rf "$work/image.tar" -C "$here/testcontainers/image" --owner=0 --group=0 --mode=755 \
		--transform='s,^,./usr/local/bin/,' entrypoint.sh
	docker import \
		--change 'ENTRYPOINT ["/usr/local/bin/entrypoint.sh"]' --change 'CMD ["postgres"]' \
		--change 'ENV PGDATA=/var/lib/postgresql/data' --change 'ENV LANG=C.UTF-8' \
		--change 'VOLUME /var/lib/postgresql/data' --change 'EXPOSE 5432' \
		"$work/image.tar" "$image"
	rm -f "$work/image.tar"
	image_made=yes
}

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

trap cleanup EXIT
trap 'exit 130' INT TERM
if engine_answers; then
	say "using the Docker engine that answers"
else
	start_engine
fi
build_image
run_tests
