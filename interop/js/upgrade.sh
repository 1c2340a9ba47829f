#!/usr/bin/env bash
# upgrade.sh [PACKAGE@VERSION ...]: raises what package.json pins to the newest releases, writes package-lock.json, and runs
# the tests. A package that is named takes that version instead, as where the newest needs what the registry does not have.
# Nothing changes where npm finds no versions that go together.
set -euo pipefail
cd "$(dirname "$0")"

wanted() {
	local package=$1 named
	shift
	for named in "$@"; do
		[ "${named%@*}" != "$package" ] || { printf '%s\n' "$named" && return; }
	done
	case $package in
	# The official suite runs in the vitest that it is made for.
	vitest) printf 'vitest@%s\n' "$(npm view --loglevel=error @langchain/langgraph-checkpoint-validation dependencies.vitest)" ;;
	# The oldest Node.js that the tests support.
	@types/node) printf '@types/node@20\n' ;;
	*) printf '%s@latest\n' "$package" ;;
	esac
}

mapfile -t packages < <(node -p '
	const { dependencies, devDependencies } = JSON.parse(require("fs").readFileSync("package.json"));
	Object.keys({ ...dependencies, ...devDependencies }).join("\n")')
versions=()
for package in "${packages[@]}"; do
	versions+=("$(wanted "$package" "$@")")
done
npm install --loglevel=error --save-exact "${versions[@]}"
exec ./interop.sh
