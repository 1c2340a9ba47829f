#!/bin/sh
# install-postgres.sh: PostgreSQL server binaries and the pgvector extension, for the tests.
#
# Does nothing where both are already there. On Debian and Ubuntu it installs the packages, and builds pgvector from
# the distribution's source package of a later release where this release does not package it. The machine's own apt
# sources name the mirror; the apt configuration is left as it was. No server is started for the tests' sake: they
# start their own from the binaries.
#
# With --if-needed it is silent where nothing is missing, and does nothing either where the tests may have another server:
# DATABASE_URL names one, PGWEFT_PG_BIN names binaries, a Docker engine answers, or the system has no apt-get.
#
#   PG_MAJOR        major version to install, 15 or later  (default: the newest installed, else the distribution's)
#   PGVECTOR_SUITE  suite whose pgvector source is built   (default: trixie on Debian, noble on Ubuntu)
set -eu

program=install-postgres
. "$(dirname "$0")/packages.sh"
min_major=15

bindir() { printf '/usr/lib/postgresql/%s/bin\n' "$1"; }

distribution_major() {
	apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1
}

# Debian's package creates and starts a cluster on port 5432; the tests need the binaries only.
install_server() {
	major=$1
	no_cluster=/etc/postgresql-common/createcluster.d/pgweft-no-main-cluster.conf
	install_packages postgresql-common
	as_root mkdir -p /etc/postgresql-common/createcluster.d
	printf 'create_main_cluster = false\n' | as_root tee "$no_cluster" >/dev/null
	trap 'as_root rm -f "$no_cluster"' EXIT
	install_packages "postgresql-$major" "postgresql-client-$major"
	as_root rm -f "$no_cluster"
	trap - EXIT
}

vector_control() { printf '%s/extension/vector.control\n' "$("$(bindir "$1")/pg_config" --sharedir)"; }

has_vector() {
	if [ -x "$(bindir "$1")/pg_config" ]; then
		[ -f "$(vector_control "$1")" ]
	else
		[ -f "/usr/share/postgresql/$1/extension/vector.control" ]
	fi
}

# source_line SUITE: a one-line apt source for SUITE's source packages, on the mirror this machine already uses.
source_line() {
	mirror=$(archive)
	[ -n "$mirror" ] || die "no $origin archive among this machine's apt sources; install pgvector by hand"
	signed=
	[ ! -f "$keyring" ] || signed="[signed-by=$keyring] "
	printf 'deb-src %s%s %s %s\n' "$signed" "$mirror" "$1" "$components"
}

# fetch_pgvector_source DIR SUITE: unpacks SUITE's pgvector below DIR, with sources and lists of its own.
fetch_pgvector_source() (
	cd "$1"
	mkdir -p lists/partial
	source_line "$2" >pgvector.list
	set -- -q -o Dir::Etc::sourcelist="$1/pgvector.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$1/lists" -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= \
		-o APT::Sandbox::User= -o APT::Get::List-Cleanup=false
	apt-get "$@" update
	apt-get "$@" source pgvector
)

build_vector() {
	major=$1
	suite=${PGVECTOR_SUITE:-$later_suite}
	install_packages "postgresql-server-dev-$major" build-essential dpkg-dev
	build=$(mktemp -d)
	trap 'rm -rf "$build"' EXIT
	say "fetching the source package of pgvector from $suite"
	fetch_pgvector_source "$build" "$suite"
	set -- "$build"/pgvector-*/
	[ -f "$1/vector.control" ] || die "the source package of pgvector did not unpack into $build"
	say "building $(basename "$1") for PostgreSQL $major"
	# OPTFLAGS empty: no -march=native, so that the library also runs where a cached image of this machine lands.
	set -- -C "$1" OPTFLAGS= with_llvm=no PG_CONFIG="$(bindir "$major")/pg_config"
	make "$@"
	as_root make "$@" install
	rm -rf "$build"
	trap - EXIT
}

install_vector() {
	major=$1
	refresh_lists
	if packaged "postgresql-$major-pgvector"; then
		install_packages "postgresql-$major-pgvector"
	else
		say "postgresql-$major-pgvector is not packaged for this release: building it from source"
		build_vector "$major"
	fi
}

choose_major() {
	major=${PG_MAJOR:-$(newest_installed)}
	if [ -z "$major" ] || { [ -z "${PG_MAJOR:-}" ] && [ "$major" -lt "$min_major" ]; }; then
		refresh_lists >&2
		major=$(distribution_major)
	fi
	case $major in
	'' | *[!0-9]*) die "no PostgreSQL major version to install: set PG_MAJOR to a number, such as PG_MAJOR=17" ;;
	esac
	[ "$major" -ge "$min_major" ] || die "PostgreSQL $major is too old, $min_major or later is needed: add the" \
		"PostgreSQL project's apt repository (package postgresql-common has a script for it) and set PG_MAJOR"
	printf '%s\n' "$major"
}

case ${1:-} in
'') ;;
--if-needed)
	[ -z "${DATABASE_URL:-}${PGWEFT_PG_BIN:-}" ] || exit 0
	! docker version >/dev/null 2>&1 || exit 0
	command -v apt-get >/dev/null 2>&1 || exit 0
	installed=$(newest_installed)
	[ -z "$installed" ] || [ "$installed" -lt "$min_major" ] || ! has_vector "$installed" || exit 0
	;;
*) die "unknown argument $1: --if-needed is the only one" ;;
esac

case $(uname -s) in
Darwin) die "on macOS run: brew install postgresql@17 pgvector" ;;
Linux) ;;
*) die "unknown system $(uname -s): install PostgreSQL $min_major or later and pgvector with its package manager" ;;
esac
command -v apt-get >/dev/null 2>&1 ||
	die "no apt-get here: install PostgreSQL $min_major or later and pgvector with this system's package manager"

major=$(choose_major)

if [ -x "$(bindir "$major")/postgres" ] && [ -x "$(bindir "$major")/initdb" ]; then
	say "PostgreSQL $major is in $(bindir "$major")"
else
	say "PostgreSQL $major is missing"
	install_server "$major"
fi

if has_vector "$major"; then
	say "pgvector is installed for PostgreSQL $major"
else
	say "pgvector is missing for PostgreSQL $major"
	install_vector "$major"
	has_vector "$major" || die "pgvector was installed, but PostgreSQL $major does not see it"
fi

say "$("$(bindir "$major")/postgres" --version), pgvector $(sed -n "s/^default_version *= *'\(.*\)'/\1/p" \
	"/usr/share/postgresql/$major/extension/vector.control") are ready"
