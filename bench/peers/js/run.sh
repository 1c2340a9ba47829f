#!/usr/bin/env bash
# run.sh: LangGraph's own JavaScript saver as a peer of the benchmark; see ../README.md.
#
# It uses the packages of interop/js, with the versions of package-lock.json there.
set -euo pipefail
cd "$(dirname "$0")"

../../../scripts/node-packages.sh ../../../interop/js
# No traces are sent anywhere, whatever the environment says.
LANGSMITH_TRACING=false LANGCHAIN_TRACING_V2=false exec node peer.mjs
