# packages.sh: what the scripts that install packages share; they source it. The caller sets $program, its name in messages.
# shellcheck shell=sh disable=SC2154,SC2034

say() { printf '%s: %s\n' "$program" "$*"; }
die() { printf '%s: error: %s\n' "$program" "$*" >&2; exit 1; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		die "root is needed for: $* (run this script as root, or install sudo)"
	fi
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"; }

# Package lists may be missing or stale (a fresh container has none): refreshed once, before the first installation.
lists_fresh=no
refresh_lists() {
	[ "$lists_fresh" = no ] || return 0
	say "refreshing the package lists"
	apt_get update
	lists_fresh=yes
}

install_packages() {
	refresh_lists
	say "installing: $*"
	apt_get install -y --no-install-recommends "$@"
}

packaged() { apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'; }

# The distribution's archive, and the suite of it that has newer packages than a release that people still use.
case $(. /etc/os-release 2>/dev/null && printf '%s' "${ID:-}") in
ubuntu) origin=Ubuntu components="main universe" later_suite=noble keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg ;;
*) origin=Debian components=main later_suite=trixie keyring=/usr/share/keyrings/debian-archive-keyring.gpg ;;
esac

# archive: the mirror of it that this machine uses; nothing where it uses none, or its package lists are missing.
archive() {
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
		sed -n "s/^$origin|$origin|//p" | head -n 1
}

# newest_installed: the highest major version of Postgres whose server is on this machine; nothing where none is.
newest_installed() {
	for server in /usr/lib/postgresql/*/bin/postgres; do
		[ -x "$server" ] || continue
		major=${server#/usr/lib/postgresql/}
		printf '%s\n' "${major%%/*}"
	done | sort -n | tail -n 1
}
