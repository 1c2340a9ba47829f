// Command generate writes what is derived from sql/: the migration of functions, up and down, and with --dump the outline of
// the migrated schema, sql/schema.sql. With --check it writes nothing and fails when a file is not what it would write, when
// a source breaks a rule of sql/, or when a released migration was changed. Run it in the module's root directory:
//
//	go run ./migrations/generate                   write the migration of functions
//	go run ./migrations/generate --dump            and sql/schema.sql (starts a throwaway Postgres)
//	go run ./migrations/generate --check [--dump]  compare only; exit 1 with the first difference
//	go run ./migrations/generate --freeze          release: write the checksums of all migrations into migrations.sum
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// functionsMigration is regenerated in place until it is released; each release after that adds one with what changed.
const functionsMigration = "000004_functions"

func main() {
	check := flag.Bool("check", false, "write nothing; exit 1 when a generated file is out of date, with the first difference")
	dump := flag.Bool("dump", false, "also generate (or check) sql/schema.sql, with a throwaway Postgres")
	freezing := flag.Bool("freeze", false, "release all migrations and the data that upgrades are tested with: write migrations.sum")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "generate: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.DirFS("."), newKeeper(*check), *dump)
	if err == nil && *freezing {
		err = freeze(os.DirFS("."), newKeeper(*check))
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}

// keeper writes generated files, or compares them.
type keeper struct {
	root  string
	check bool
}

func newKeeper(check bool) keeper { return keeper{root: ".", check: check} }

// keep makes the file hold the text, or in check mode reports that it does not.
func (k keeper) keep(name, text string) error {
	path := filepath.Join(k.root, filepath.FromSlash(name))
	present, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	switch {
	case errors.Is(err, os.ErrNotExist) && k.check:
		return fmt.Errorf("%s is missing; run \"make generate\"", name)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case bytes.Equal(present, []byte(text)):
		return nil
	case k.check:
		return fmt.Errorf("%s is out of date; run \"make generate\" and commit it\n%s", name, firstDifference(string(present), text))
	}
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a source file
}

func firstDifference(present, wanted string) string {
	a, b := strings.Split(present, "\n"), strings.Split(wanted, "\n")
	for i := range max(len(a), len(b)) {
		if lineAt(a, i) != lineAt(b, i) {
			return fmt.Sprintf("first difference, line %d:\n  is:        %s\n  should be: %s", i+1, lineAt(a, i), lineAt(b, i))
		}
	}
	return ""
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end of file)"
}
