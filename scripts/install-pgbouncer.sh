#!/bin/sh
# install-pgbouncer.sh: PgBouncer, for the tests that go through a pooler.
#
# Does nothing where it is already there. On Debian and Ubuntu it installs the package; the tests start a PgBouncer of their
# own, so the package's service is not started. With --if-needed it is silent where nothing is missing or nothing can be
# installed.
set -eu

program=install-pgbouncer
. "$(dirname "$0")/packages.sh"

# Daemons are not on everybody's path.
installed() { command -v pgbouncer >/dev/null 2>&1 || [ -x /usr/sbin/pgbouncer ]; }

quiet=no
case ${1:-} in
'') ;;
--if-needed) quiet=yes ;;
*) die "unknown argument $1: --if-needed is the only one" ;;
esac

if installed; then
	[ "$quiet" = yes ] || say "PgBouncer is installed"
	exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
	[ "$quiet" = no ] || exit 0
	die "no apt-get here: install PgBouncer with this system's package manager"
fi

# A policy that forbids starting services, for the time of the installation; one that is there is respected.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy"
	trap 'as_root rm -f "$policy"' EXIT
fi
install_packages pgbouncer
installed || die "the package was installed, but there is no pgbouncer"
say "PgBouncer is ready"
