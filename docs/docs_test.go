// Package docs holds no code: its test runs what the documents print.
package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/internal/pgclients"
	"github.com/pgweft/pgweft/internal/pgcrontest"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) { testcontainers.Main(m, testcontainers.WithoutFsync()) }

// block is a fenced block of a document, and the line it begins at.
type block struct {
	language, text string
	line           int
}

func TestTheGuideDoesWhatItSays(t *testing.T) {
	t.Parallel()
	requireRuns(t, "guide.md", testcontainers.NewDatabase(t).TCPConnString())
}

func TestTheConversationByPsqlDoesWhatItSays(t *testing.T) {
	t.Parallel()
	requireRuns(t, filepath.Join("..", "interop", "psql", "README.md"), testcontainers.NewDatabase(t).TCPConnString())
}

// The pictures are drawn from the queries above them. A module of its own draws them, so it is run as one runs it.
func TestTheAnalyticsGalleryShowsWhatItSays(t *testing.T) {
	t.Parallel()
	database := testcontainers.NewDatabase(t).TCPConnString()
	requireRuns(t, "analytics.md", database)
	draw := "go run -C docs/charts . --check"
	if updating() {
		draw = "go run -C docs/charts ."
	}
	shell(t, database, t.TempDir(), draw+` "$DATABASE_URL"`)
}

// A server of its own, because the manual makes roles, which belong to a whole server, and has pg_cron loaded.
func TestADBACanDoWhatTheManualSays(t *testing.T) {
	t.Parallel()
	server := pgcrontest.Start(t, map[string]string{"cron.database_name": "agents", "cron.use_background_workers": "on"},
		testcontainers.WithoutMigrations())
	conn, err := pgx.Connect(t.Context(), server.ConnString())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "create database agents")
	require.NoError(t, errors.Join(err, conn.Close(t.Context())))

	address, err := url.Parse(server.TCPConnString())
	require.NoError(t, err)
	as := func(user *url.Userinfo, database string) string {
		u := *address
		u.User, u.Path = user, "/"+database
		return u.String()
	}
	requireRuns(t, "dba.md", as(address.User, "agents"),
		"OWNER_URL="+as(url.UserPassword("agents_owner", "change-me"), "agents"),
		"APP_URL="+as(url.UserPassword("support_agent", "change-me"), "agents"),
		"NIGHTLY_URL="+as(url.UserPassword("nightly", "change-me"), "agents"),
		"RESTORED_URL="+as(address.User, "agents_restored"),
		"BACKUPS="+t.TempDir())
}

// updating says whether the documents are to be written again rather than compared.
func updating() bool { return os.Getenv("PGWEFT_UPDATE_DOCS") != "" }

// requireRuns runs the sql and sh blocks of a document in order, in one database, and compares what they print with the text
// block that follows. PGWEFT_UPDATE_DOCS=1 writes those text blocks again.
func requireRuns(t *testing.T, document, database string, env ...string) {
	t.Helper()
	commands := buildCommands(t)
	source, err := os.ReadFile(document)
	require.NoError(t, err)

	lines := strings.Split(string(source), "\n")
	var rewritten []string
	session := ""
	ran := 0
	for i := 0; i < len(lines); i++ {
		found, end := blockAt(lines, i)
		if found == nil {
			rewritten = append(rewritten, lines[i])
			continue
		}
		rewritten = append(rewritten, lines[i:end+1]...)
		expected, next := "", end
		if end+2 < len(lines) {
			if output, outputEnd := blockAt(lines, end+2); output != nil && output.language == "text" {
				expected, next = output.text, outputEnd
			}
		}
		// What comes later builds on what a block does: the first that fails is the last.
		passed := t.Run(fmt.Sprintf("line %d", found.line), func(t *testing.T) {
			printed := runBlock(t, database, session, commands, found, env)
			if printed != "" {
				rewritten = append(rewritten, "", "```text")
				rewritten = append(rewritten, strings.Split(strings.TrimRight(printed, "\n"), "\n")...)
				rewritten = append(rewritten, "```")
			}
			if !updating() {
				require.Equalf(t, expected, printed, "%s:%d prints something else; PGWEFT_UPDATE_DOCS=1 writes it down", document,
					found.line)
			}
		})
		if !passed {
			return
		}
		if found.language == "sql" && strings.HasPrefix(found.text, "set ") {
			session += found.text
		}
		ran++
		i = next
	}
	require.Greater(t, ran, 10, "the document has commands")
	if updating() {
		require.NoError(t, os.WriteFile(document, []byte(strings.Join(rewritten, "\n")), 0o600))
	}
}

// runBlock gives what a block prints.
func runBlock(t *testing.T, database, session, commands string, found *block, env []string) string {
	t.Helper()
	printed := ""
	switch found.language {
	case "sql":
		printed = psql(t, database, session, found.text)
	case "sh":
		printed = shell(t, database, commands, found.text, env...)
	case "text":
		require.Fail(t, "a text block follows no command")
	default:
		require.Failf(t, "unknown block", "a block of %q", found.language)
	}
	return strings.TrimLeft(printed, "\n")
}

// blockAt reads the fenced block that begins at a line, and says where it ends; nil when none begins there.
func blockAt(lines []string, i int) (*block, int) {
	if i >= len(lines) || !strings.HasPrefix(lines[i], "```") {
		return nil, i
	}
	found := &block{language: strings.TrimPrefix(lines[i], "```"), line: i + 1}
	for j := i + 1; j < len(lines); j++ {
		if lines[j] == "```" {
			return found, j
		}
		found.text += lines[j] + "\n"
	}
	return found, len(lines) - 1
}

func psql(t *testing.T, database, session, sql string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), pgclients.Find(t, "psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1",
		"--pset=null=NULL", "--dbname="+database)
	command.Stdin = strings.NewReader(session + sql)
	return strings.Trim(void.ReplaceAllString(output(t, command)+"\n", ""), "\n") + "\n"
}

// void is the result of a function that returns nothing, which a document leaves out.
var void = regexp.MustCompile(`(?m)^ \w+\n-+\n\n\(1 row\)\n\n?`)

func shell(t *testing.T, database, commands, script string, env ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	command.Dir = ".."
	command.Env = append(os.Environ(), "DATABASE_URL="+database, "PSQLRC="+os.DevNull,
		"PATH="+strings.Join([]string{commands, filepath.Dir(pgclients.Find(t, "psql")), os.Getenv("PATH")}, string(os.PathListSeparator)))
	command.Env = append(command.Env, env...)
	return output(t, command)
}

func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	require.NoErrorf(t, command.Run(), "%s", stderr.String())
	// A document has no blanks at the end of a line, and psql writes some.
	var kept []string
	for _, line := range strings.Split(strings.TrimRight(stdout.String(), "\n"), "\n") {
		kept = append(kept, strings.TrimRight(line, " "))
	}
	if text := strings.Trim(strings.Join(kept, "\n"), "\n"); text != "" {
		return text + "\n"
	}
	return ""
}

func buildCommands(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(os.PathSeparator), "./cmd/...")
	build.Dir = ".."
	printed, err := build.CombinedOutput()
	require.NoErrorf(t, err, "%s", printed)
	return dir
}
