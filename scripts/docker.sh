# docker.sh: what test-docker.sh and test-matrix.sh share; they source it. A Docker engine where none answers, and images of
# Postgres with pgvector and pg_cron from the distribution's packages. Everything it starts it stops, everything it makes it
# removes, but for the packages it installs and the root file systems it keeps below ${XDG_CACHE_HOME:-~/.cache}/pgweft.
#
# The caller sets $program, its name in messages, and $here, the top of the repository; SUITE and PG_MAJOR say what
# build_image makes. $work is a directory for anything.
# shellcheck shell=sh disable=SC2154

. "$here/scripts/packages.sh"

install_missing() { # install_missing COMMAND PACKAGE...: installs the packages unless the command is there
	command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] && return 0
	shift
	command -v apt-get >/dev/null 2>&1 || die "please install: $*"
	install_packages "$@"
}

case $origin in
Ubuntu) : "${PG_MAJOR:=16}" ;;
*) : "${PG_MAJOR:=17}" ;;
esac
: "${SUITE:=$later_suite}"

PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d "/tmp/pgweft-docker.XXXXXX")
engine_log=$work/dockerd.log
engine_pid=$work/engine.pid
engine_started=no
bridge_made=no
images_made=

cleanup() {
	status=$?
	trap - EXIT
	trap '' INT TERM
	if [ "$engine_started" = no ]; then
		for made in $images_made; do
			docker image rm "$made" >/dev/null || true
		done
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
	# What a container on the host's network leaves mounted.
	as_root umount "$work/exec/netns/default" 2>/dev/null || true
	[ "$bridge_made" = no ] || as_root ip link delete docker0 2>/dev/null || true
}

engine_answers() { timeout 10 docker info >/dev/null 2>&1; }

find_engine() { # the engine that answers, or one of our own
	if engine_answers; then
		say "using the Docker engine that answers"
	else
		start_engine
	fi
}

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

build_rootfs() { # build_rootfs TARBALL
	install_missing debootstrap debootstrap
	mirror=$(archive)
	if [ -z "$mirror" ]; then
		refresh_lists
		mirror=$(archive)
	fi
	[ -n "$mirror" ] || die "no $origin archive among this machine's apt sources to build the image from"
	root=$work/rootfs
	say "building a root file system: $SUITE with PostgreSQL $PG_MAJOR, pgvector and pg_cron"
	# A release younger than this machine's debootstrap is bootstrapped the way sid is.
	script=
	[ -e "/usr/share/debootstrap/scripts/$SUITE" ] || script=/usr/share/debootstrap/scripts/sid
	# shellcheck disable=SC2086 # $script is one word or none
	as_root debootstrap --variant=minbase --components="$(printf '%s' "$components" | tr ' ' ,)" --keyring="$keyring" \
		--include="postgresql-$PG_MAJOR,postgresql-$PG_MAJOR-pgvector,postgresql-$PG_MAJOR-cron" "$SUITE" "$root" "$mirror" $script \
		>"$work/debootstrap.log" 2>&1 || {
		tail -n 20 "$work/debootstrap.log" >&2
		die "debootstrap failed: are postgresql-$PG_MAJOR-pgvector and -cron packaged in $SUITE?"
	}
	as_root sh -c 'cd "$1" && rm -rf var/lib/apt/lists/* var/cache/apt/* var/lib/postgresql/*/main usr/share/doc/* \
		usr/share/man/*' sh "$root"
	mkdir -p "$(dirname "$1")"
	as_root tar -C "$root" --one-file-system --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -c . |
		gzip -1 >"$1.part"
	mv "$1.part" "$1"
	as_root rm -rf "$root"
}

# build_image: an image of $SUITE with $PG_MAJOR, whose name is then in $image.
build_image() {
	image=pgweft-test-postgres:$PG_MAJOR-$SUITE
	tarball=${XDG_CACHE_HOME:-$HOME/.cache}/pgweft/rootfs-$SUITE-postgresql-$PG_MAJOR-cron-$(uname -m).tar.gz
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
	images_made="$images_made $image"
}

trap cleanup EXIT
trap 'exit 130' INT TERM
