// Package pgbouncertest starts a real PgBouncer in transaction mode for a test: in front of the test's database, on a Unix
// socket of its own, as a user who is not root.
package pgbouncertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// startTimeout bounds how long PgBouncer may take to say that it is up.
	startTimeout = 30 * time.Second
	// port only names the socket.
	port = "6432"
)

// Pooler is a running PgBouncer.
type Pooler struct {
	dir     string
	user    string
	version [2]int
}

// Start runs PgBouncer in transaction mode before the database of connString until the test ends. Settings are those of
// its [pgbouncer] section and stand above the defaults here. Without PgBouncer the test is skipped, which "make test"
// counts as a failure; scripts/install-pgbouncer.sh installs it.
func Start(tb testing.TB, connString string, settings map[string]string) *Pooler {
	tb.Helper()
	binary, err := find()
	if err != nil {
		tb.Skipf("pgbouncertest: %v; run scripts/install-pgbouncer.sh", err)
	}
	p, err := start(tb.Context(), tb, binary, connString, settings)
	if err != nil {
		tb.Fatalf("pgbouncertest: %v", err)
	}
	return p
}

// ConnString is a connection string through the pooler; every database of the server can be named.
func (p *Pooler) ConnString(database string) string {
	return fmt.Sprintf("host=%s port=%s user=%s dbname=%s", p.dir, port, p.user, database)
}

// KeepsPreparedStatements says whether this PgBouncer knows max_prepared_statements (1.21), without which a client must not
// name prepared statements.
func (p *Pooler) KeepsPreparedStatements() bool {
	return p.version[0] > 1 || p.version[0] == 1 && p.version[1] >= 21
}

// find looks where Debian installs daemons, which is not on everybody's path.
func find() (string, error) {
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/pgbouncer")
}

func start(ctx context.Context, tb testing.TB, binary, connString string, settings map[string]string) (*Pooler, error) {
	tb.Helper()
	config, err := pgx.ParseConfig(connString)
	if err != nil {
		return nil, err
	}
	p := &Pooler{user: config.User}
	if p.version, err = version(ctx, binary); err != nil {
		return nil, err
	}
	credential, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "pgbouncer"); err != nil {
		return nil, err
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(p.dir); err != nil {
			tb.Errorf("pgbouncertest: %v", err)
		}
	})
	file := filepath.Join(p.dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(p.ini(config, settings)), 0o600); err != nil {
		return nil, err
	}
	if credential != nil {
		for _, path := range []string{p.dir, file} {
			if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
				return nil, err
			}
		}
	}
	return p, p.run(tb, binary, file, credential)
}

func (p *Pooler) ini(server *pgx.ConnConfig, settings map[string]string) string {
	all := map[string]string{
		"auth_type":         "any", // the socket's directory is the test's own
		"default_pool_size": "4",
		"listen_addr":       "",
		"listen_port":       port,
		"max_client_conn":   "100",
		"pool_mode":         "transaction",
		"unix_socket_dir":   p.dir,
	}
	if p.KeepsPreparedStatements() {
		all["max_prepared_statements"] = "100"
	}
	maps.Copy(all, settings)
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	var b strings.Builder
	fmt.Fprintf(&b, "[databases]\n* = host=%s port=%d user=%s", quoted(server.Host), server.Port, quoted(server.User))
	if server.Password != "" {
		fmt.Fprintf(&b, " password=%s", quoted(server.Password))
	}
	b.WriteString("\n[pgbouncer]\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s = %s\n", name, all[name])
	}
	return b.String()
}

// run starts the process and waits until it says that it is up; its whole log is in the error if it never does.
func (p *Pooler) run(tb testing.TB, binary, file string, credential *syscall.Credential) error {
	tb.Helper()
	cmd := exec.Command(binary, file) //nolint:gosec // found by find
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	cmd.Dir = p.dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	up, logged := make(chan bool, 1), make(chan string, 1)
	go func() { logged <- follow(stderr, up) }()
	tb.Cleanup(func() {
		// It ends at once; the test's connections are closed by then.
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			tb.Errorf("pgbouncertest: stop: %v", err)
		}
		log := <-logged
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			tb.Errorf("pgbouncertest: %v", err)
		}
		if tb.Failed() {
			tb.Logf("PgBouncer said:\n%s", log)
		}
	})
	timer := time.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case ok := <-up:
		if !ok {
			return errors.New("PgBouncer ended before it was up; its log follows")
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("PgBouncer was not up after %s", startTimeout)
	}
}

// follow reads the log to its end, and says when PgBouncer is up, or that it never was.
func follow(log io.Reader, up chan<- bool) string {
	var all strings.Builder
	told := false
	for lines := bufio.NewScanner(log); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if !told && strings.Contains(lines.Text(), "process up") {
			told = true
			up <- true
		}
	}
	if !told {
		up <- false
	}
	return all.String()
}

var versionLine = regexp.MustCompile(`PgBouncer (\d+)\.(\d+)`)

func version(ctx context.Context, binary string) ([2]int, error) {
	said, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return [2]int{}, fmt.Errorf("%s --version: %w", binary, err)
	}
	m := versionLine.FindStringSubmatch(string(said))
	if m == nil {
		return [2]int{}, fmt.Errorf("%s --version says no version: %q", binary, said)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return [2]int{major, minor}, nil
}

// unprivileged is whom to run as where the tests run as root, which PgBouncer refuses.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PgBouncer does not run as root, and there is neither a user postgres nor nobody")
}
