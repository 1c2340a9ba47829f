// Package demo is what the example programs share: a Postgres of their own, and tables in the terminal.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/pgweft/pgweft/testcontainers"
)

// Program is an example: it works on a migrated database and prints what it does.
type Program func(ctx context.Context, databaseURL string, out io.Writer) error

// Main runs a program on a Postgres of its own, or on the migrated database of that URL, and exits, with 1 and the error if
// there is one.
func Main(name, databaseURL string, program Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if databaseURL != "" {
		err = program(ctx, databaseURL, os.Stdout)
	} else {
		err = OnThrowawayPostgres(ctx, os.Stdout, program)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// OnThrowawayPostgres finds or starts a Postgres with pgvector, runs the program on a database of its own there, and
// removes what it started.
func OnThrowawayPostgres(ctx context.Context, out io.Writer, program Program) (err error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	postgres, err := testcontainers.Run(ctx, testcontainers.WithLogger(logger))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Close(context.WithoutCancel(ctx))) }()
	fmt.Fprintf(out, "PostgreSQL %d with pgvector (backend: %s), schema \"langgraph\" migrated.\n",
		postgres.ServerVersion()/10000, postgres.Backend())
	return program(ctx, postgres.ConnString(), out)
}

// Heading prints a title, underlined.
func Heading(out io.Writer, title string) {
	fmt.Fprintf(out, "\n%s\n%s\n", title, strings.Repeat("─", text.StringWidth(title)))
}

// Table prints rows, each value as cell shows it, then how many there were, and returns that.
func Table(out io.Writer, rows pgx.Rows, cell func(any) string) (int, error) {
	defer rows.Close()
	writer := table.NewWriter()
	writer.SetOutputMirror(out)
	writer.SetStyle(table.StyleLight)
	writer.Style().Format.Header = text.FormatDefault
	header := table.Row{}
	columns := []table.ColumnConfig{}
	for i, field := range rows.FieldDescriptions() {
		header = append(header, field.Name)
		columns = append(columns, table.ColumnConfig{Number: i + 1, WidthMax: 64})
	}
	writer.AppendHeader(header)
	writer.SetColumnConfigs(columns)
	count := 0
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return count, err
		}
		row := table.Row{}
		for _, value := range values {
			row = append(row, cell(value))
		}
		writer.AppendRow(row)
		count++
	}
	if err := rows.Err(); err != nil {
		return count, err
	}
	writer.Render()
	plural := "s"
	if count == 1 {
		plural = ""
	}
	fmt.Fprintf(out, "(%d row%s)\n", count, plural)
	return count, nil
}
