package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// binariesVariable names the directory of the server binaries to take, where they should not be searched for.
const binariesVariable = "PGWEFT_PG_BIN"

var errNoBinaries = errors.New("no usable PostgreSQL server binaries (initdb and postgres, version 15 or later): run " +
	"scripts/install-postgres.sh, install them with the system's package manager, or set " + binariesVariable +
	" to the directory they are in")

// binaries are the server programs of one Postgres installation.
type binaries struct{ dir string }

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

func findBinaries(ctx context.Context) (binaries, error) {
	if dir := os.Getenv(binariesVariable); dir != "" {
		b := binaries{dir: dir}
		if err := b.check(ctx); err != nil {
			return binaries{}, fmt.Errorf("%s=%s: %w", binariesVariable, dir, err)
		}
		return b, nil
	}
	return firstUsable(ctx, candidateDirs(ctx))
}

func firstUsable(ctx context.Context, dirs []string) (binaries, error) {
	unusable := []error{errNoBinaries}
	for _, dir := range dirs {
		b := binaries{dir: dir}
		err := b.check(ctx)
		if err == nil {
			return b, nil
		}
		unusable = append(unusable, fmt.Errorf("%s: %w", dir, err))
	}
	return binaries{}, errors.Join(unusable...)
}

var majorVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// check tells why the binaries cannot be used.
func (b binaries) check(ctx context.Context) error {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(b.path(name)); err != nil {
			return fmt.Errorf("%s is missing", name)
		}
	}
	out, err := exec.CommandContext(ctx, b.path("postgres"), "--version").Output()
	if err != nil {
		return fmt.Errorf("postgres --version: %w", err)
	}
	match := majorVersion.FindSubmatch(out)
	if match == nil {
		return fmt.Errorf("postgres --version says %q", strings.TrimSpace(string(out)))
	}
	if major, _ := strconv.Atoi(string(match[1])); major < oldestVersion/10000 {
		return fmt.Errorf("PostgreSQL %d is too old", major)
	}
	return nil
}

// candidateDirs lists the directories that may hold server binaries, the most deliberate choice first.
func candidateDirs(ctx context.Context) []string {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if server, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(server); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
		"/usr/pgsql-*/bin",                   // the PostgreSQL project's RPMs
		"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
		"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
	} {
		dirs = append(dirs, newestFirst(pattern)...)
	}
	return dirs
}

var numbers = regexp.MustCompile(`\d+`)

// newestFirst sorts by the version in the directory's name, as a number: 9 comes after 15.
func newestFirst(pattern string) []string {
	dirs, _ := filepath.Glob(pattern) // the patterns are constants
	version := func(dir string) int {
		n, _ := strconv.Atoi(numbers.FindString(dir))
		return n
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	return dirs
}
