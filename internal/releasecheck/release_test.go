package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree is a repository that may be released as v0.1.0.
func tree() map[string]string {
	const table = "create table t ();\n"
	return map[string]string{
		"CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-11-21\n\nRun `migrate up`.\n\n### Added\n\n- All.\n",
		"go.mod":       "module github.com/pgweft/pgweft\n\ngo 1.26.0\n",
		"api/api.go":   "// Package api is one.\npackage api\n\n// Do does.\nfunc Do(a int) {}\n",
		"nested/go.mod": "module github.com/pgweft/pgweft/nested\n\ngo 1.26.0\n\nrequire github.com/pgweft/pgweft v0.1.0\n\n" +
			"replace github.com/pgweft/pgweft => ../\n",
		"nested/nested.go":               "// Package nested is another.\npackage nested\n\nimport _ \"github.com/pgweft/pgweft/api\"\n\n// On is on.\nconst On = true\n",
		"migrations/000001_t.up.sql":     table,
		"migrations/testdata/upgrade/t":  table,
		"migrations/migrations.sum":      "# released\n" + sum(table) + "  000001_t.up.sql\n" + sum(table) + "  testdata/upgrade/t\n",
		"sql/schema.sql":                 "create function f(a text)\nreturns text\nas md5 1;\n\ncreate procedure p(a text)\nas md5 1;\n",
		"internal/hidden/hidden.go":      "// Package hidden is nobody's.\npackage hidden\n\n// Do does.\nfunc Do(a int) {}\n",
		"scripts/testdata/module/go.mod": "module elsewhere\n\nrequire github.com/pgweft/pgweft v0.0.1\n",
	}
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// repository commits the files.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	git(t, root, "init", "--quiet")
	commit(t, root, files)
	return root
}

func commit(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	git(t, root, "add", "--all")
	git(t, root, "commit", "--quiet", "--allow-empty", "--message=files")
}

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	_, err := run(t.Context(), root, "git", append([]string{
		"-c", "user.name=tester", "-c", "user.email=tester@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false",
	}, args...)...)
	require.NoError(t, err)
}

func problemsOf(t *testing.T, root, version string) []string {
	t.Helper()
	var texts []string
	for _, problem := range check(t.Context(), root, version) {
		texts = append(texts, problem.Error())
	}
	return texts
}

func TestAFirstReleaseThatIsReadyPasses(t *testing.T) {
	t.Parallel()
	require.Empty(t, problemsOf(t, repository(t, tree()), "v0.1.0"))
}

func TestWhatSpeaksAgainstARelease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		version string
		change  map[string]string
		loose   map[string]string
		want    []string
	}{
		"a version that is none":     {version: "0.1", want: []string{`"0.1" is no version to release`}},
		"a tree that is not clean":   {loose: map[string]string{"left.txt": "x"}, want: []string{"the working tree is not clean; commit or remove:\n?? left.txt"}},
		"another version everywhere": {version: "v0.2.0", want: []string{`CHANGELOG.md has no section "## 0.2.0 - YYYY-MM-DD"`, "nested/go.mod requires github.com/pgweft/pgweft v0.1.0; run: go -C nested mod edit"}},
		"entries that were not moved": {
			change: map[string]string{"CHANGELOG.md": "## Unreleased\n\n- More.\n\n## 0.1.0 - 2026-11-21\n\nRun it.\n"},
			want:   []string{`CHANGELOG.md still has entries below "## Unreleased"`},
		},
		"a section without a date": {
			change: map[string]string{"CHANGELOG.md": "## 0.1.0\n\nRun it.\n"},
			want:   []string{`CHANGELOG.md has no section "## 0.1.0 - YYYY-MM-DD"`},
		},
		"a section that does not say what to run": {
			change: map[string]string{"CHANGELOG.md": "## 0.1.0 - 2026-11-21\n\n- All.\n"},
			want:   []string{"does not open with what to run"},
		},
		"a migration that is not frozen": {
			change: map[string]string{"migrations/000002_u.up.sql": "x", "migrations/testdata/upgrade/u": "x"},
			want: []string{
				`migrations/000002_u.up.sql is not frozen in migrations.sum; run "make freeze"`,
				"migrations/testdata/upgrade/u is not frozen",
			},
		},
		"a migration that was changed": {
			change: map[string]string{"migrations/000001_t.up.sql": "x"},
			want:   []string{"migrations/000001_t.up.sql is not what migrations.sum says"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := tree()
			maps.Copy(files, test.change)
			root := repository(t, files)
			for file, text := range test.loose {
				require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o600))
			}
			if test.version == "" {
				test.version = "v0.1.0"
			}
			problems := problemsOf(t, root, test.version)
			require.Len(t, problems, len(test.want), "%q", problems)
			for i, want := range test.want {
				require.Contains(t, problems[i], want)
			}
		})
	}
}

// prepared are the changes that a release needs after v0.1.0.
func prepared(version string) map[string]string {
	files := tree()
	number := strings.TrimPrefix(version, "v")
	return map[string]string{
		"CHANGELOG.md":  "## Unreleased\n\n## " + number + " - 2026-12-01\n\nRun `migrate up`.\n",
		"nested/go.mod": strings.Replace(files["nested/go.mod"], "v0.1.0", version, 1),
	}
}

func TestAReleaseAfterAnotherKeepsWhatWasReleased(t *testing.T) {
	t.Parallel()
	const broken = "// Package api is one.\npackage api\n\n// Do does.\nfunc Do(a string) {}\n"
	for name, test := range map[string]struct {
		version string
		change  map[string]string
		want    []string
	}{
		"more of everything": {
			version: "v0.1.1",
			change: map[string]string{
				"api/api.go":                tree()["api/api.go"] + "\n// Undo undoes.\nfunc Undo() {}\n",
				"sql/schema.sql":            tree()["sql/schema.sql"] + "create function f_v2(a text, b text)\nreturns text\n",
				"internal/hidden/hidden.go": "// Package hidden is nobody's.\npackage hidden\n",
			},
		},
		"a version that was released": {version: "v0.1.0", want: []string{"v0.1.0 does not come after v0.1.0"}},
		"Go that breaks, unannounced": {
			version: "v0.1.1", change: map[string]string{"api/api.go": broken},
			want: []string{"github.com/pgweft/pgweft breaks what was released with v0.1.0, which v0.1.1 does not announce"},
		},
		"Go that breaks, announced": {version: "v0.2.0", change: map[string]string{"api/api.go": broken}},
		"Go of a nested module that breaks": {
			version: "v0.1.1",
			change:  map[string]string{"nested/nested.go": "// Package nested is another.\npackage nested\n"},
			want:    []string{"github.com/pgweft/pgweft/nested breaks what was released"},
		},
		"SQL that breaks, announced or not": {
			version: "v0.2.0",
			change:  map[string]string{"sql/schema.sql": "create function f(a text, b text)\nreturns text\nas md5 1;\n"},
			want: []string{
				"a released signature is gone or changed; keep it as a wrapper and add _v2:\ncreate function f(a text)\nreturns text",
				"create procedure p(a text)",
			},
		},
		"a migration that was thawed": {
			version: "v0.1.1",
			change: map[string]string{
				"migrations/000001_t.up.sql": "x", "migrations/migrations.sum": sum("x") + "  000001_t.up.sql\n" +
					sum("create table t ();\n") + "  testdata/upgrade/t\n",
			},
			want: []string{"migrations/000001_t.up.sql was released with v0.1.0 and is listed otherwise now"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := repository(t, tree())
			git(t, root, "tag", "v0.1.0")
			git(t, root, "tag", "v0.0.9")
			git(t, root, "tag", "vendor")
			files := prepared(test.version)
			maps.Copy(files, test.change)
			commit(t, root, files)
			problems := problemsOf(t, root, test.version)
			require.Len(t, problems, len(test.want), "%q", problems)
			for i, want := range test.want {
				require.Contains(t, problems[i], want)
			}
			worktrees, err := run(t.Context(), root, "git", "worktree", "list")
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(worktrees, "\n"), "none is left behind")
		})
	}
}
