//go:build unix

package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	superuser = "postgres"
	// portAttempts is how often another port is tried where somebody else takes the one that was free a moment ago.
	portAttempts = 10
	// socketPathLimit is the longest path of a Unix socket that both Linux (107 bytes) and the BSDs (103) accept.
	socketPathLimit = 103
)

var errPortTaken = errors.New("the port is taken by another process")

// localServer is a private cluster from this machine's binaries. Its directory holds the data, the socket and the log
// and belongs to the account the server runs as, with no access for others: that is what guards the socket. Connections
// through TCP need the password.
type localServer struct {
	account  *account
	args     []string
	binaries binaries
	dir      string
	logger   *slog.Logger
	password string
	pickPort func(ctx context.Context) (int, error)
	watchdog *watchdog

	mu      sync.Mutex
	port    int // chosen at the first start and kept
	process *process
}

func startLocal(ctx context.Context, cfg config) (server, error) {
	found, err := findBinaries(ctx)
	if err != nil {
		return nil, err
	}
	s := &localServer{
		args:     cfg.serverArgs(),
		binaries: found,
		logger:   cfg.logger,
		password: randomHex(16),
		pickPort: cfg.pickPort,
	}
	if s.account, err = serverAccount(); err != nil {
		return nil, err
	}
	if err := s.create(ctx); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return nil, errors.Join(err, s.close(cleanup))
	}
	return s, nil
}

func (s *localServer) create(ctx context.Context) (err error) {
	if s.dir, err = makeDir(s.account); err != nil {
		return err
	}
	if s.watchdog, err = startWatchdog(s.dir); err != nil {
		return err
	}
	if err := s.account.own(s.dir); err != nil {
		return err
	}
	started := time.Now()
	s.logger.InfoContext(ctx, "creating a Postgres cluster", "binaries", s.binaries.dir, "directory", s.dir)
	if err := s.initdb(ctx); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	s.logger.InfoContext(ctx, "Postgres runs", "port", s.port, "took", time.Since(started))
	return nil
}

// makeDir makes the cluster's directory where temporary files go, or below /tmp where the account cannot get there or
// the socket's path would become too long.
func makeDir(owner *account) (string, error) {
	parent, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", err
	}
	const longest = "pgweft-4294967295/.s.PGSQL.65535"
	if len(filepath.Join(parent, longest)) > socketPathLimit || !owner.reaches(parent) {
		parent = "/tmp"
	}
	return os.MkdirTemp(parent, "pgweft-")
}

func (s *localServer) dataDir() string { return filepath.Join(s.dir, "data") }

func (s *localServer) logFile() string { return filepath.Join(s.dir, "server.log") }

// command is a server program, under the account, with an environment that a developer's PGPORT or PGDATA does not change.
func (s *localServer) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.binaries.path(name), args...)
	cmd.Dir = s.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "PG") || strings.HasPrefix(entry, "LC_")
	})
	cmd.Env = append(cmd.Env, "LC_ALL=C", "TZ=UTC") // messages in English, which start reads; the images' time zone
	cmd.SysProcAttr = s.account.attributes()
	return cmd
}

// initdb uses the locale C.UTF-8, which knows the letters of all languages, or C where the system does not have it.
func (s *localServer) initdb(ctx context.Context) error {
	passwordFile := filepath.Join(s.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(s.password+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(passwordFile)
	if err := s.account.own(passwordFile); err != nil {
		return err
	}
	var out []byte
	var err error
	for _, locale := range []string{"C.UTF-8", "C"} {
		out, err = s.runInitdb(ctx, "--locale="+locale, "--lc-messages=C", "--pwfile="+passwordFile)
		if err == nil || !strings.Contains(string(out), "invalid locale name") {
			break
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("initdb: %w", context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, lastLines(out))
	}
	return nil
}

func (s *localServer) runInitdb(ctx context.Context, more ...string) ([]byte, error) {
	// Syncing what nobody has written to yet takes longer than the rest of initdb.
	args := []string{
		"-D", s.dataDir(), "--username=" + superuser, "--encoding=UTF8", "--no-sync",
		"--auth-local=trust", "--auth-host=scram-sha-256",
	}
	cmd := s.command(ctx, "initdb", append(args, more...)...)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // its children too
	cmd.WaitDelay = 10 * time.Second
	var out limitedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	tracked := s.watchdog.track(cmd.Process.Pid)
	err := cmd.Wait()
	return out.bytes, errors.Join(err, tracked, s.watchdog.track(0))
}

// limitedBuffer keeps the first megabyte that is written to it.
type limitedBuffer struct{ bytes []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p[:min(len(p), 1<<20-len(b.bytes))]...)
	return len(p), nil
}

func (s *localServer) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		return nil
	}
	if s.port != 0 {
		return s.launch(ctx, s.port)
	}
	for range portAttempts {
		port, err := s.pickPort(ctx)
		if err != nil {
			return err
		}
		err = s.launch(ctx, port)
		if errors.Is(err, errPortTaken) {
			s.logger.InfoContext(ctx, "another process took the port, trying the next", "port", port)
			continue
		}
		if err == nil {
			s.port = port
		}
		return err
	}
	return fmt.Errorf("no port stayed free in %d attempts", portAttempts)
}

func (s *localServer) running() bool {
	if s.process == nil {
		return false
	}
	select {
	case <-s.process.exited:
		return false
	default:
		return true
	}
}

// launch starts the server on a port and waits until it can be connected to. It is called with the lock held.
func (s *localServer) launch(ctx context.Context, port int) error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	logged, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	args := append([]string{"-D", s.dataDir(), "-k", s.dir, "-h", "127.0.0.1", "-p", strconv.Itoa(port)}, s.args...)
	cmd := s.command(context.WithoutCancel(ctx), "postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	proc, err := startProcess(cmd)
	if err != nil {
		return err
	}
	if err := errors.Join(s.watchdog.track(cmd.Process.Pid), s.awaitReady(ctx, proc, port, logged)); err != nil {
		return errors.Join(err, proc.stop(ctx, immediateShutdown), s.watchdog.track(0))
	}
	s.process = proc
	return nil
}

func (s *localServer) awaitReady(ctx context.Context, proc *process, port int, logged int64) error {
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w", context.Cause(ctx))
		case <-proc.exited:
			return s.whyExited(proc, logged)
		case <-ticker.C:
			if ping(ctx, s.socketURL(port, "")) == nil {
				return nil
			}
		}
	}
}

// whyExited reads what the server logged since its launch.
func (s *localServer) whyExited(proc *process, logged int64) error {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return err
	}
	log = log[min(logged, int64(len(log))):]
	if strings.Contains(string(log), "Address already in use") {
		return errPortTaken
	}
	return fmt.Errorf("the server ended at its start: %w\n%s", proc.err, lastLines(log))
}

func (s *localServer) stop(ctx context.Context, how shutdown) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	if err := s.process.stop(ctx, how); err != nil {
		return err
	}
	s.process = nil
	return s.watchdog.track(0)
}

func (s *localServer) close(ctx context.Context) error {
	errs := []error{s.stop(ctx, fastShutdown)}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	if s.watchdog != nil {
		errs = append(errs, s.watchdog.release())
	}
	return errors.Join(errs...)
}

func (s *localServer) connString(database string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.socketURL(s.port, database)
}

func (s *localServer) socketURL(port int, database string) string {
	query := url.Values{"host": {s.dir}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}
	return s.url("", database, query)
}

func (s *localServer) tcpConnString(database string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url(net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), database, url.Values{"sslmode": {"disable"}})
}

func (s *localServer) url(host, database string, query url.Values) string {
	if database == "" {
		database = superuser
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     host,
		Path:     "/" + database,
		RawQuery: query.Encode(),
	}
	return u.String()
}

func (s *localServer) String() string {
	return fmt.Sprintf("the cluster in %s (%s)", s.dir, s.binaries.dir)
}

// lastLines is the end of a program's output, enough to see why it failed.
func lastLines(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
