package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	modulePath = "github.com/pgweft/pgweft"
	apidiff    = "golang.org/x/exp/cmd/apidiff@v0.0.0-20260908205506-85c1c2202aba"
	sumFile    = "migrations/migrations.sum"
	schemaFile = "sql/schema.sql"
)

// release is what is to be released.
type release struct {
	root    string
	version string // v0.1.0
	number  [3]int
	// previous is the tag of the release before; empty for the first.
	previous       string
	previousNumber [3]int
}

var semver = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)

func numberOf(version string) ([3]int, bool) {
	var number [3]int
	parts := semver.FindStringSubmatch(version)
	if parts == nil {
		return number, false
	}
	for i, part := range parts[1:] {
		n, err := strconv.Atoi(part)
		if err != nil {
			return number, false
		}
		number[i] = n
	}
	return number, true
}

func (r *release) parse(version string) error {
	number, ok := numberOf(version)
	if !ok {
		return fmt.Errorf("%q is no version to release; one is vMAJOR.MINOR.PATCH, such as v0.1.0", version)
	}
	r.version, r.number = version, number
	return nil
}

// findPrevious looks for the highest version that is tagged.
func (r *release) findPrevious(ctx context.Context) error {
	tags, err := r.git(ctx, "tag", "--list", "v*")
	if err != nil {
		return err
	}
	for _, tag := range strings.Fields(tags) {
		number, ok := numberOf(tag)
		if ok && (r.previous == "" || less(r.previousNumber, number)) {
			r.previous, r.previousNumber = tag, number
		}
	}
	return nil
}

func less(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	return run(ctx, r.root, "git", args...)
}

// run returns what a command printed.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...) //nolint:gosec // commands of this program
	command.Dir = dir
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

func (r *release) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	return string(text), err
}

// readPrevious reads a file of the release before; empty when it had none.
func (r *release) readPrevious(ctx context.Context, name string) (string, error) {
	listed, err := r.git(ctx, "ls-tree", "--name-only", r.previous, name)
	if err != nil || strings.TrimSpace(listed) == "" {
		return "", err
	}
	return r.git(ctx, "show", r.previous+":"+name)
}

func (r *release) treeIsClean(ctx context.Context) error {
	changes, err := r.git(ctx, "status", "--porcelain")
	if err == nil && changes != "" {
		err = fmt.Errorf("the working tree is not clean; commit or remove:\n%s", strings.TrimRight(changes, "\n"))
	}
	return err
}

func (r *release) versionIsNext(context.Context) error {
	if r.previous == "" || less(r.previousNumber, r.number) {
		return nil
	}
	return fmt.Errorf("%s does not come after %s, which is released", r.version, r.previous)
}

var releaseHeading = regexp.MustCompile(`(?m)^## (.+)$`)

// changelogHasIt wants a section of the version with a date, that opens with what to run, and nothing left above it.
func (r *release) changelogHasIt(context.Context) error {
	text, err := r.read("CHANGELOG.md")
	if err != nil {
		return err
	}
	number := strings.TrimPrefix(r.version, "v")
	dated := regexp.MustCompile(`^` + regexp.QuoteMeta(number) + ` - \d{4}-\d{2}-\d{2}$`)
	headings := releaseHeading.FindAllStringSubmatchIndex(text, -1)
	found := false
	var problems []error
	for i, at := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		heading, body := text[at[2]:at[3]], strings.TrimSpace(text[at[1]:end])
		switch {
		case heading == "Unreleased" && body != "":
			problems = append(problems, fmt.Errorf("CHANGELOG.md still has entries below \"## Unreleased\"; "+
				"move them below \"## %s - YYYY-MM-DD\"", number))
		case dated.MatchString(heading):
			found = true
			if !strings.HasPrefix(body, "Run ") {
				problems = append(problems, fmt.Errorf("CHANGELOG.md: the section of %s does not open with what to run (\"Run ...\")", number))
			}
		}
	}
	if !found {
		problems = append(problems, fmt.Errorf("CHANGELOG.md has no section \"## %s - YYYY-MM-DD\"", number))
	}
	return errors.Join(problems...)
}

// sums reads a migrations.sum.
func sums(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] != "#" {
			found[fields[1]] = fields[0]
		}
	}
	return found
}

func (r *release) migrationsAreFrozen(context.Context) error {
	text, err := r.read(sumFile)
	if err != nil {
		return err
	}
	frozen := sums(text)
	var problems []error
	for _, pattern := range []string{"*.sql", "testdata/upgrade/*"} {
		paths, err := fs.Glob(os.DirFS(filepath.Join(r.root, "migrations")), pattern)
		if err != nil {
			return err
		}
		for _, path := range paths {
			content, err := r.read("migrations/" + path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256([]byte(content))
			switch frozen[path] {
			case hex.EncodeToString(sum[:]):
			case "":
				problems = append(problems, fmt.Errorf("migrations/%s is not frozen in migrations.sum; run \"make freeze\" and commit it", path))
			default:
				problems = append(problems, fmt.Errorf("migrations/%s is not what migrations.sum says; restore it", path))
			}
		}
	}
	return errors.Join(problems...)
}

// nothingFrozenChanged compares migrations.sum with that of the release before, so that nobody thaws a file by editing it.
func (r *release) nothingFrozenChanged(ctx context.Context) error {
	if r.previous == "" {
		return nil
	}
	before, err := r.readPrevious(ctx, sumFile)
	if err != nil {
		return err
	}
	text, err := r.read(sumFile)
	if err != nil {
		return err
	}
	now := sums(text)
	var problems []error
	for path, sum := range sums(before) {
		if now[path] != sum {
			problems = append(problems, fmt.Errorf("migrations/%s was released with %s and is listed otherwise now; restore both it and "+
				"its line in migrations.sum, and put the change into a migration of its own", path, r.previous))
		}
	}
	return errors.Join(problems...)
}

// modules are the directories of the tree's modules, the root first.
func modules(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.Name() == "go.mod":
			dir, err := filepath.Rel(root, filepath.Dir(path))
			found = append(found, dir)
			return err
		}
		return nil
	})
	return found, err
}

// modulesRequireIt wants the nested modules that people import to name this version: their replace directive is for this tree
// only and does not reach them.
func (r *release) modulesRequireIt(context.Context) error {
	dirs, err := modules(r.root)
	if err != nil {
		return err
	}
	var problems []error
	for _, dir := range dirs {
		text, err := r.read(filepath.ToSlash(filepath.Join(dir, "go.mod")))
		if err != nil {
			return err
		}
		required := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(modulePath) + ` (v\S+)`).FindStringSubmatch(text)
		if required != nil && required[1] != r.version {
			problems = append(problems, fmt.Errorf("%s/go.mod requires %s %s; run: go -C %s mod edit -require=%s@%s", dir, modulePath,
				required[1], dir, modulePath, r.version))
		}
	}
	return errors.Join(problems...)
}

// mayBreak says whether the version number announces that something is incompatible.
func (r *release) mayBreak() bool {
	if r.number[0] != r.previousNumber[0] {
		return true
	}
	return r.number[0] == 0 && r.number[1] != r.previousNumber[1]
}

var sqlRoutine = regexp.MustCompile(`(?m)^create (?:function|procedure) .*\n(?:returns .*\n)?`)

// sqlStays wants every function and procedure of the release before with the same arguments and the same result, whatever the
// version number: other programs call them, and they are not recompiled.
func (r *release) sqlStays(ctx context.Context) error {
	if r.previous == "" {
		return nil
	}
	before, err := r.readPrevious(ctx, schemaFile)
	if err != nil {
		return err
	}
	now, err := r.read(schemaFile)
	if err != nil {
		return err
	}
	var problems []error
	for _, routine := range sqlRoutine.FindAllString(before, -1) {
		if !strings.Contains(now, routine) {
			problems = append(problems, fmt.Errorf("%s: a released signature is gone or changed; keep it as a wrapper and add _v2:\n%s",
				schemaFile, strings.TrimRight(routine, "\n")))
		}
	}
	return errors.Join(problems...)
}

// goStays compares the exported API of each module with that of the release before.
func (r *release) goStays(ctx context.Context) (err error) {
	if r.previous == "" {
		return nil
	}
	work, err := os.MkdirTemp("", "pgweft-release-")
	if err != nil {
		return err
	}
	before := filepath.Join(work, "before")
	defer func() {
		_, removeErr := r.git(context.WithoutCancel(ctx), "worktree", "remove", "--force", before)
		err = errors.Join(err, removeErr, os.RemoveAll(work))
	}()
	if _, err := r.git(ctx, "worktree", "add", "--detach", before, r.previous); err != nil {
		return err
	}
	dirs, err := modules(before)
	if err != nil {
		return err
	}
	var problems []error
	for _, dir := range dirs {
		if err := r.moduleStays(ctx, work, before, dir); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func (r *release) moduleStays(ctx context.Context, work, before, dir string) error {
	old, now := filepath.Join(before, dir), filepath.Join(r.root, dir)
	path, err := run(ctx, old, "go", "list", "-m")
	if err != nil {
		return err
	}
	path = strings.TrimSpace(path)
	if _, err := os.Stat(filepath.Join(now, "go.mod")); err != nil {
		return fmt.Errorf("the module %s of %s is gone: %w", path, r.previous, err)
	}
	export := filepath.Join(work, "api")
	if _, err := run(ctx, old, "go", "run", apidiff, "-m", "-w", export, path); err != nil {
		return err
	}
	broken, err := run(ctx, now, "go", "run", apidiff, "-m", "-incompatible", export, path)
	if err != nil || strings.TrimSpace(broken) == "" || r.mayBreak() {
		return err
	}
	return fmt.Errorf("%s breaks what was released with %s, which %s does not announce:\n%s", path, r.previous, r.version,
		strings.TrimRight(broken, "\n"))
}
