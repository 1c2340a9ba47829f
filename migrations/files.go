package migrations

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/golang-migrate/migrate/v4/source"

	"github.com/pgweft/pgweft/migrations/internal/sqltext"
)

// Files holds the migrations as golang-migrate names them, NNNNNN_name.up.sql and NNNNNN_name.down.sql, with the schema
// tokens that [Render] replaces.
//
//go:embed *.sql
var Files embed.FS

// migration is one version: how to get there from the version before, and back.
type migration struct {
	version  int
	name     string // "000001_checkpoint_tables"
	up, down string
}

func (m migration) sql(d Direction) string {
	if d == DirectionUp {
		return m.up
	}
	return m.down
}

// load reads every migration and renders it for the schema. Versions must run from 1 without a gap, each in both
// directions, so that a number says exactly which migrations have run.
func load(files fs.FS, schema string) ([]migration, error) {
	entries, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	byVersion := map[int]*migration{}
	for _, name := range entries {
		if err := loadFile(files, name, schema, byVersion); err != nil {
			return nil, fmt.Errorf("migration file %s: %w", name, err)
		}
	}
	return inOrder(byVersion)
}

func loadFile(files fs.FS, name, schema string, byVersion map[int]*migration) error {
	parsed, err := source.Parse(name)
	if err != nil {
		return errors.New("name must be NNNNNN_name.up.sql or NNNNNN_name.down.sql")
	}
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	rendered, err := Render(string(text), schema)
	if err != nil {
		return err
	}
	if err := checkStatements(rendered); err != nil {
		return err
	}
	version := int(parsed.Version)
	stem := strings.TrimSuffix(name, "."+string(parsed.Direction)+".sql")
	m := byVersion[version]
	if m == nil {
		m = &migration{version: version, name: stem}
		byVersion[version] = m
	}
	if m.name != stem {
		return fmt.Errorf("version %d has two names, %s and %s", version, m.name, stem)
	}
	if parsed.Direction == source.Up {
		m.up = rendered
	} else {
		m.down = rendered
	}
	return nil
}

var transactionControl = regexp.MustCompile(`(?i)^(begin|start|commit|end|rollback|abort|savepoint|release|prepare)\b`)

// checkStatements refuses scripts that would end the transaction they share with their version row.
func checkStatements(script string) error {
	statements, err := sqltext.Split(script)
	if err != nil {
		return err
	}
	for _, s := range statements {
		if word := transactionControl.FindString(s.Text); word != "" {
			return fmt.Errorf("line %d: %q controls the transaction; a migration and its version row are one transaction", s.Line, word)
		}
	}
	return nil
}

func inOrder(byVersion map[int]*migration) ([]migration, error) {
	list := make([]migration, 0, len(byVersion))
	for version := 1; version <= len(byVersion); version++ {
		m := byVersion[version]
		if m == nil {
			return nil, fmt.Errorf("there are %d migrations, but none has version %d", len(byVersion), version)
		}
		if m.up == "" || m.down == "" {
			return nil, fmt.Errorf("migration %s must have an up and a down file, neither empty", m.name)
		}
		list = append(list, *m)
	}
	return list, nil
}

// rendered is a golang-migrate source over migrations that are already rendered.
type rendered []migration

var _ source.Driver = rendered(nil)

func (r rendered) Open(string) (source.Driver, error) {
	return nil, errors.New("this source is not opened by URL; use migrations.New")
}

func (r rendered) Close() error { return nil }

func (r rendered) First() (uint, error) { return r.at("first", 1) }

func (r rendered) Prev(version uint) (uint, error) { return r.at("previous", int(version)-1) }

func (r rendered) Next(version uint) (uint, error) { return r.at("next", int(version)+1) }

func (r rendered) ReadUp(version uint) (io.ReadCloser, string, error) {
	return r.read(version, DirectionUp)
}

func (r rendered) ReadDown(version uint) (io.ReadCloser, string, error) {
	return r.read(version, DirectionDown)
}

func (r rendered) at(op string, version int) (uint, error) {
	if version < 1 || version > len(r) {
		return 0, &fs.PathError{Op: op, Path: "migrations", Err: os.ErrNotExist}
	}
	return uint(version), nil
}

func (r rendered) read(version uint, d Direction) (io.ReadCloser, string, error) {
	if _, err := r.at("read", int(version)); err != nil {
		return nil, "", err
	}
	m := r[version-1]
	return io.NopCloser(strings.NewReader(m.sql(d))), m.name, nil
}
