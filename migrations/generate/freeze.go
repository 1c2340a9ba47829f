package main

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

const sumHeader = `# Released migrations, and the data that upgrades from them are tested with, one a line: sha256 and file name, as sha256sum
# prints them in this directory. A file listed here never changes again; "go run ./migrations/generate --check" proves it, and
# "make freeze" adds what is not listed yet.
`

// frozenFiles are what a release freezes.
var frozenFiles = []string{"migrations/*.sql", "migrations/testdata/upgrade/*"}

// freeze lists everything in migrations.sum, with --check only says whether it is. Files listed before were proven unchanged.
func freeze(tree fs.FS, k keeper) error {
	var paths []string
	for _, pattern := range frozenFiles {
		found, err := fs.Glob(tree, pattern)
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	var out strings.Builder
	out.WriteString(sumHeader)
	for _, path := range paths {
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s  %s\n", checksum(text), strings.TrimPrefix(path, "migrations/"))
	}
	return k.keep("migrations/migrations.sum", out.String())
}
