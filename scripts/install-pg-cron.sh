#!/bin/sh
# install-pg-cron.sh: the extension pg_cron for this machine's PostgreSQL, for the tests that schedule sweeps.
#
# Does nothing where it is already there. On Debian and Ubuntu it installs the package postgresql-NN-cron; no server is
# started or changed: to use it, a server needs shared_preload_libraries = 'pg_cron'. With --if-needed it is silent where
# nothing is missing or nothing can be installed.
#
#   PG_MAJOR  major version to install it for  (default: the newest installed)
set -eu

program=install-pg-cron
. "$(dirname "$0")/packages.sh"

lists_are_there() { [ -n "$(find /var/lib/apt/lists -name '*_Packages*' -print -quit 2>/dev/null)" ]; }

quiet=no
case ${1:-} in
'') ;;
--if-needed) quiet=yes ;;
*) die "unknown argument $1: --if-needed is the only one" ;;
esac

give_up() {
	[ "$quiet" = no ] || exit 0
	die "$@"
}

major=${PG_MAJOR:-$(newest_installed)}
[ -n "$major" ] || give_up "no PostgreSQL is installed: run scripts/install-postgres.sh first, or set PG_MAJOR"
control=/usr/share/postgresql/$major/extension/pg_cron.control
if [ -f "$control" ]; then
	[ "$quiet" = yes ] || say "pg_cron is installed for PostgreSQL $major"
	exit 0
fi
command -v apt-get >/dev/null 2>&1 || give_up "no apt-get here: install pg_cron with this system's package manager"
package=postgresql-$major-cron
if ! packaged "$package"; then
	[ "$quiet" = no ] || ! lists_are_there || exit 0 # asked of the mirror once, not at every run of the tests
	refresh_lists
	packaged "$package" || give_up "this release does not package $package: the PostgreSQL project's apt repository does" \
		"(package postgresql-common has a script for it)"
fi
install_packages "$package"
[ -f "$control" ] || die "the package was installed, but there is no $control"
say "pg_cron is ready for PostgreSQL $major"
