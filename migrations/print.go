package migrations

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Print writes the migrations from one version to another as one script for psql, for review, or for a DBA to run instead
// of the tool: psql and Up agree on the result, the version row included. It goes downwards when from is greater than to.
// Nothing connects to a database.
//
// The script is one transaction under the migrators' own lock. It stops before changing anything when the schema is not
// at version from, or dirty.
//
// Errors: ErrNoSuchVersion; whatever w returns.
func (m *Migrator) Print(w io.Writer, from, to int) error {
	for _, version := range []int{from, to} {
		if err := m.knownVersion(version); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(w)
	m.printHead(out, from, to)
	d, at := DirectionUp, from
	if to < from {
		d = DirectionDown
	}
	for ; at != to; at += stepOf(d) {
		printMigration(out, m.nextOf(at, d), d)
	}
	m.printTail(out, to)
	return out.Flush()
}

func stepOf(d Direction) int {
	if d == DirectionUp {
		return 1
	}
	return -1
}

func (m *Migrator) printHead(out *bufio.Writer, from, to int) {
	fmt.Fprintf(out, `-- Schema %s: from version %d to version %d of the pgweft migrations.
--
-- Run with psql, as the role that shall own the objects (superuser is not needed):
--   psql --no-psqlrc --file this.sql "dbname=..."
-- All of it is one transaction. It stops before changing anything unless the schema is at version %d.

\set ON_ERROR_STOP on

begin;

set local client_encoding = 'UTF8';
set local standard_conforming_strings = on;
set local check_function_bodies = on;
set local search_path = '';
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
set local langgraph.across_tenants = 'on';

-- Waits for any migrator that is at work on this schema.
set local lock_timeout = 0;
select pg_advisory_xact_lock(hashtextextended(%s, 0));
set local lock_timeout = %s;

`, quoteIdentifier(m.config.Schema), from, to, from, quoteLiteral(lockName(m.config.Schema)), quoteLiteral(m.lockTimeout()))
	m.printSchemas(out)
	m.printGuard(out, from)
}

// printSchemas avoids "create schema if not exists", which needs CREATE on the database even where the schema exists.
func (m *Migrator) printSchemas(out *bufio.Writer) {
	fmt.Fprintf(out, `do $pgweft$
begin
  if not exists (select from pg_namespace where nspname = %s) then
    create schema %s;
  end if;
  if not exists (select from pg_namespace where nspname = %s) then
    create schema %s;
  end if;
end
$pgweft$;

create table if not exists %s %s;

`, quoteLiteral(m.config.Schema), quoteIdentifier(m.config.Schema),
		quoteLiteral(m.config.Schema+analyticsSuffix), quoteIdentifier(m.config.Schema+analyticsSuffix),
		m.versionTable(), versionColumns)
}

func (m *Migrator) printGuard(out *bufio.Writer, from int) {
	fmt.Fprintf(out, `do $pgweft$
declare
  v_version bigint := coalesce((select max(version) from %[1]s), 0);
begin
  if exists (select from %[1]s where dirty) then
    raise exception 'the schema is marked dirty at version %%', v_version
      using hint = 'Run "migrate version" for what to check.';
  end if;
  if v_version <> %[2]d then
    raise exception 'the schema is at version %%, and this script starts from version %[2]d', v_version
      using hint = format('Print it again with --from %%s.', v_version);
  end if;
end
$pgweft$;
`, m.versionTable(), from)
}

func printMigration(out *bufio.Writer, run *migration, d Direction) {
	rule := "-- " + strings.Repeat("=", 77)
	fmt.Fprintf(out, "\n%s\n-- %s (%s)\n%s\n\n%s\n", rule, run.name, d, rule, strings.TrimRight(run.sql(d), "\n"))
}

func (m *Migrator) printTail(out *bufio.Writer, to int) {
	fmt.Fprintf(out, "\n-- The version row, as golang-migrate keeps it.\ndelete from %s;\n", m.versionTable())
	if to > 0 {
		fmt.Fprintf(out, "insert into %s (version, dirty) values (%d, false);\n", m.versionTable(), to)
	}
	fmt.Fprint(out, "\ncommit;\n")
}
