#!/usr/bin/env bash
# node-packages.sh DIRECTORY: installs what its package-lock.json says into its node_modules. They are kept while it stays the
# same. Standard output stays empty.
set -euo pipefail

die() {
	printf 'node-packages: %s\n' "$*" >&2
	exit 1
}

cd "$1"
installed=node_modules/.installed-lock.json
cmp -s package-lock.json "$installed" && exit
exec >&2
command -v npm >/dev/null || die "there is no npm: install Node.js 20 or later, with npm"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' ||
	die "node $(node --version) is too old, 20 or later is needed"
npm ci --loglevel=error
# Made whole or not at all: the copy, written last, says that the rest is there.
cp package-lock.json "$installed"
