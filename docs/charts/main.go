// Command charts draws the charts of docs/analytics.md: each from the result of the query that stands above it there. Run in
// this directory, on the database that the document looks at:
//
//	go run . "$DATABASE_URL"            write the pictures
//	go run . --check "$DATABASE_URL"    compare only; exit 1 where one would be another
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// document is where the queries are, and pictures beside it where the charts go.
const document = "../analytics.md"

func main() {
	check := flag.Bool("check", false, "write nothing; fail where a picture is not what would be written")
	flag.Parse()
	if err := run(context.Background(), flag.Args(), *check); err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, check bool) error {
	if len(args) != 1 {
		return errors.New("usage: charts [--check] <connection URL of the database with the demo data>")
	}
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	queries, err := queriesAbovePictures(string(text))
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "set search_path to langgraph_analytics, langgraph"); err != nil {
		return err
	}
	for _, q := range queries {
		draw, known := drawings[filepath.Base(q.picture)]
		if !known {
			return fmt.Errorf("there is no drawing for %s; add one to drawings.go", q.picture)
		}
		drawn, err := q.draw(ctx, conn, draw)
		if err != nil {
			return fmt.Errorf("%s: %w", q.picture, err)
		}
		if err := keep(filepath.Join(filepath.Dir(document), q.picture), drawn, check); err != nil {
			return err
		}
	}
	return nil
}

// query is one of the document with the picture that shows its result.
type query struct{ sql, picture string }

var (
	sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")
	image    = regexp.MustCompile(`!\[[^\]]*\]\(([^)]+\.svg)\)`)
)

// queriesAbovePictures finds the last query above each picture.
func queriesAbovePictures(text string) ([]query, error) {
	var found []query
	for _, at := range image.FindAllStringSubmatchIndex(text, -1) {
		blocks := sqlBlock.FindAllStringSubmatch(text[:at[0]], -1)
		if len(blocks) == 0 {
			return nil, fmt.Errorf("no query stands above %s", text[at[2]:at[3]])
		}
		found = append(found, query{sql: blocks[len(blocks)-1][1], picture: text[at[2]:at[3]]})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no pictures", document)
	}
	return found, nil
}

func (q query) draw(ctx context.Context, conn *pgx.Conn, draw drawing) ([]byte, error) {
	rows, err := conn.Query(ctx, strings.TrimRight(strings.TrimSpace(q.sql), ";"))
	if err != nil {
		return nil, err
	}
	result, err := pgx.CollectRows(rows, pgx.RowToMap)
	if err != nil {
		return nil, err
	}
	if len(result) == 0 {
		return nil, errors.New("the query returns nothing to draw")
	}
	chart := plot.New()
	if err := draw(chart, result); err != nil {
		return nil, err
	}
	canvas := vgsvg.New(18*vg.Centimeter, 9*vg.Centimeter)
	chart.Draw(withMargin(canvas))
	var svg bytes.Buffer
	_, err = canvas.WriteTo(&svg)
	return svg.Bytes(), err
}

func keep(path string, drawn []byte, check bool) error {
	if check {
		present, err := os.ReadFile(path) //nolint:gosec // a picture of this repository
		if err != nil {
			return err
		}
		if !bytes.Equal(present, drawn) {
			return fmt.Errorf("%s is out of date; run \"make charts\"", path)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, drawn, 0o644) //nolint:gosec // a picture for everyone
}
