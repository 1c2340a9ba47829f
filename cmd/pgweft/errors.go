package main

import (
	"errors"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// SQLSTATEs of the schema's functions.
const (
	notFound        = "LG001"
	invalidArgument = "LG002"
	corrupt         = "LG006"
)

// advice is what a user of this command can do, where the server's own hint is for those who write SQL.
var advice = map[string]string{
	notFound: `"pgweft threads" lists the threads, "pgweft tree THREAD --all" draws every namespace of one.`,
	pgerrcode.InsufficientPrivilege: "Connect as a role with the rights this needs, or have the owner of the schema grant them: " +
		"USAGE on the schema, EXECUTE on its functions, and SELECT (to remove: DELETE, UPDATE) on its tables.",
}

// badArguments are the SQLSTATEs by which the database says that an argument cannot be what it stands for.
var badArguments = map[string]bool{
	invalidArgument:                            true,
	pgerrcode.InvalidDatetimeFormat:            true,
	pgerrcode.DatetimeFieldOverflow:            true,
	pgerrcode.IntervalFieldOverflow:            true,
	pgerrcode.InvalidTimeZoneDisplacementValue: true,
}

// judged tells wrong usage from failure: the database has the rules, and says which argument breaks one.
func judged(err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && badArguments[pgErr.Code] {
		return cli.AsUsageError(err)
	}
	return err
}

// explain writes an error with everything the server said, and what to do about it.
func explain(err error) string {
	var pgErr *pgconn.PgError
	var connect *pgconn.ConnectError
	if !errors.As(err, &pgErr) || errors.As(err, &connect) {
		return err.Error()
	}
	var b strings.Builder
	if before, _, found := strings.Cut(err.Error(), pgErr.Error()); found {
		b.WriteString(before)
	}
	b.WriteString(pgErr.Message + " (SQLSTATE " + pgErr.Code + ")")
	hint := pgErr.Hint
	if better, ok := advice[pgErr.Code]; ok {
		hint = better
	}
	for _, part := range []string{pgErr.Detail, hint} {
		if part != "" {
			b.WriteString("\n" + part)
		}
	}
	return printable(b.String())
}
