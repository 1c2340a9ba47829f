// Command releasecheck says whether this working tree may be released as a version: all that can be known without running the
// tests. It changes nothing in the tree. docs/releasing.md explains each check.
//
//	go run ./internal/releasecheck v0.1.0
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/releasecheck vMAJOR.MINOR.PATCH")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	problems := check(ctx, ".", os.Args[1])
	stop()
	for _, problem := range problems {
		fmt.Fprintf(os.Stderr, "release-check: %v\n", problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
	fmt.Printf("release-check: %s may be released, if the tests pass\n", os.Args[1])
}

// check collects everything that speaks against a release.
func check(ctx context.Context, root, version string) []error {
	r := &release{root: root}
	if err := r.parse(version); err != nil {
		return []error{err}
	}
	if err := r.findPrevious(ctx); err != nil {
		return []error{err}
	}
	var problems []error
	for _, one := range []func(context.Context) error{
		r.treeIsClean, r.versionIsNext, r.changelogHasIt, r.migrationsAreFrozen, r.nothingFrozenChanged, r.modulesRequireIt,
		r.sqlStays, r.goStays,
	} {
		if err := one(ctx); err != nil {
			problems = append(problems, unjoin(err)...)
		}
	}
	return problems
}

func unjoin(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
