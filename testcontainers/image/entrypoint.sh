#!/bin/sh
# Entry point of the test image that scripts/test-docker.sh builds from Debian's packages. It understands what the
# official postgres image understands and the tests use: POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB, PGDATA, and
# `postgres` or options of it as the command. The server listens only once the database is there.
set -eu

: "${PGDATA:=/var/lib/postgresql/data}"
: "${POSTGRES_USER:=postgres}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
export PGDATA

bindir=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
PATH=$bindir:$PATH

case ${1:-} in
'' | -*) set -- postgres "$@" ;;
postgres) ;;
*) exec "$@" ;;
esac

if [ "$(id -u)" -eq 0 ]; then
	mkdir -p "$PGDATA" /var/run/postgresql
	chown postgres:postgres "$PGDATA" /var/run/postgresql
	chmod 700 "$PGDATA"
	exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
	if [ -z "${POSTGRES_PASSWORD:-}" ]; then
		echo "entrypoint: POSTGRES_PASSWORD must be set" >&2
		exit 1
	fi
	umask 077
	printf '%s\n' "$POSTGRES_PASSWORD" >"$PGDATA.password"
	initdb --username="$POSTGRES_USER" --pwfile="$PGDATA.password" --auth-local=trust --auth-host=scram-sha-256 \
		--encoding=UTF8 --locale=C.UTF-8 --no-sync
	rm -f "$PGDATA.password"
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	if [ "$POSTGRES_DB" != postgres ]; then
		printf 'CREATE DATABASE "%s"\n' "$POSTGRES_DB" | postgres --single -j postgres >/dev/null
	fi
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
fi

exec "$@"
