// Package pgclients finds Postgres' own client programs for a test: psql, pg_dump and pg_restore.
package pgclients

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// directoryVariable names the directory of the clients, where they belong to a server that is not this machine's: pg_dump
// refuses a server newer than itself.
const directoryVariable = "PGWEFT_TEST_CLIENTS"

// Find is the path of a client. It looks in the directories that PGWEFT_TEST_CLIENTS and PGWEFT_PG_BIN name, then where Debian
// keeps what belongs to each server, the newest first (the wrappers that it puts on the PATH need a cluster of Debian's making),
// then on the PATH. Without one the test is skipped, which "make test" counts as a failure; scripts/install-postgres.sh installs
// them.
func Find(tb testing.TB, name string) string {
	tb.Helper()
	for _, variable := range []string{directoryVariable, "PGWEFT_PG_BIN"} {
		if dir := os.Getenv(variable); dir != "" {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path
			}
		}
	}
	found, err := filepath.Glob(filepath.Join("/usr/lib/postgresql/*/bin", name))
	if err != nil {
		tb.Fatalf("pgclients: %v", err)
	}
	if len(found) > 0 {
		return slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(major(a), major(b)) })
	}
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Skipf("pgclients: %v; scripts/install-postgres.sh installs it", err)
	}
	return path
}

var digits = regexp.MustCompile(`\d+`)

func major(path string) int {
	n, _ := strconv.Atoi(digits.FindString(path)) // 0 where there is none
	return n
}
