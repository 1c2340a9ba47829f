#!/usr/bin/env bash
# run.sh: LangGraph's own JavaScript saver as a peer of the benchmark; see ../README.md.
#
# It uses the packages of interop/js, with the versions of package-lock.json there, and installs them as interop.sh there does
# where they are missing or of other versions.
set -euo pipefail
cd "$(dirname "$0")"

interop=../../../interop/js

die() {
	printf 'peers/js: %s\n' "$*" >&2
	exit 1
}

# Made whole or not at all: the copy of the lock file, written last, says that the rest is there.
install_packages() (
	command -v npm >/dev/null 2>&1 || die "there is no npm: install Node.js 20 or later, with npm"
	node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' ||
		die "node $(node --version) is too old, 20 or later is needed"
	cd "$interop"
	npm ci --loglevel=error
	cp package-lock.json node_modules/.installed-lock.json
)

# Standard output belongs to the protocol.
cmp -s "$interop/package-lock.json" "$interop/node_modules/.installed-lock.json" || install_packages >&2
# No traces are sent anywhere, whatever the environment says.
LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false exec node peer.mjs
