package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of the wait strategy
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	tc "github.com/testcontainers/testcontainers-go"
	tcpostgres "github.com/testcontainers/testcontainers-go/modules/postgres"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	// engineTimeout is how long a Docker engine may take to answer; one that runs answers in milliseconds.
	engineTimeout = 5 * time.Second
	pullTimeout   = 5 * time.Minute
	readyTimeout  = 2 * time.Minute
	stopTimeout   = 20 * time.Second

	containerPort = "5432/tcp"
	containerUser = "postgres"
)

var errNoEngine = errors.New("no Docker engine answers")

// dockerServer is a container with a name of its own, by which it can be removed also when its creation was cancelled
// half-way.
type dockerServer struct {
	image    string
	name     string
	password string

	mu        sync.Mutex
	address   string // host:port as seen from here; the port changes when the container starts again
	container *tcpostgres.PostgresContainer
	running   bool
}

func startDocker(ctx context.Context, cfg config) (server, error) {
	docker, err := connectEngine(ctx)
	if err != nil {
		return nil, err
	}
	defer docker.Close()
	if err := ensureImages(ctx, docker, cfg); err != nil {
		return nil, err
	}
	s := &dockerServer{image: cfg.image, name: "pgweft-" + randomHex(8), password: randomHex(16)}
	started := time.Now()
	cfg.logger.InfoContext(ctx, "starting a container", "image", s.image, "name", s.name)
	if err := s.create(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("run image %s: %w", s.image, err), s.remove(ctx, docker))
	}
	cfg.logger.InfoContext(ctx, "Postgres runs", "address", s.address, "took", time.Since(started))
	return s, nil
}

// connectEngine finds the engine as testcontainers-go does. Not under the caller's context: testcontainers-go remembers
// the outcome for the rest of the process, and a start that was cancelled says nothing about the engine.
func connectEngine(ctx context.Context) (*tc.DockerClient, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	probe, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout)
	defer cancel()
	docker, err := tc.NewDockerClientWithOpts(probe)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoEngine, err)
	}
	if _, err := docker.Ping(probe, client.PingOptions{}); err != nil {
		_ = docker.Close()
		return nil, fmt.Errorf("%w: %w", errNoEngine, err)
	}
	return docker, nil
}

// ensureImages pulls what is missing, once: testcontainers-go would try again for a quarter of an hour.
func ensureImages(ctx context.Context, docker *tc.DockerClient, cfg config) error {
	settings := tc.ReadConfig().Config
	if settings.HubImageNamePrefix != "" {
		return nil // the images have other names then, which testcontainers-go knows
	}
	if err := ensureImage(ctx, docker, cfg.image, cfg.logger); err != nil {
		return err
	}
	if settings.RyukDisabled {
		return nil
	}
	// Deprecated without a public successor: what replaces it is internal to testcontainers-go.
	if err := ensureImage(ctx, docker, tc.ReaperDefaultImage, cfg.logger); err != nil { //nolint:staticcheck // see above
		return fmt.Errorf("the container that cleans up after a crash of the tests (TESTCONTAINERS_RYUK_DISABLED=true "+
			"does without): %w", err)
	}
	return nil
}

func ensureImage(ctx context.Context, docker *tc.DockerClient, image string, logger *slog.Logger) error {
	_, err := docker.ImageInspect(ctx, image)
	if err == nil {
		return nil
	}
	if !errdefs.IsNotFound(err) {
		return fmt.Errorf("inspect image %s: %w", image, err)
	}
	logger.InfoContext(ctx, "pulling an image", "image", image)
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	pull, err := docker.ImagePull(ctx, image, client.ImagePullOptions{RegistryAuth: registryAuth(ctx, image)})
	if err == nil {
		err = pull.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("pull image %s: %w", image, err)
	}
	return nil
}

// registryAuth is the login of docker's own configuration, empty where there is none: public images need none.
func registryAuth(ctx context.Context, image string) string {
	_, login, err := tc.DockerImageAuth(ctx, image)
	if err != nil {
		return ""
	}
	encoded, err := authconfig.Encode(login)
	if err != nil {
		return ""
	}
	return encoded
}

func (s *dockerServer) create(ctx context.Context, cfg config) error {
	command := append([]string{"postgres"}, cfg.serverArgs()...)
	ready := wait.ForSQL(containerPort, "pgx", func(host string, port network.Port) string {
		// A connection that Docker's proxy accepts before the server listens may never be answered.
		return s.url(net.JoinHostPort(host, port.Port()), "") + "&connect_timeout=2"
	}).WithStartupTimeout(readyTimeout)
	ctr, err := tcpostgres.Run(ctx, s.image,
		tcpostgres.WithDatabase(containerUser),
		tcpostgres.WithUsername(containerUser),
		tcpostgres.WithPassword(s.password),
		tc.WithName(s.name),
		tc.WithCmd(command...),
		// The postmaster's fast shutdown, whatever the image says.
		tc.WithConfigModifier(func(c *container.Config) { c.StopSignal = "SIGINT" }),
		tc.WithLogger(containerLogger{cfg.logger}),
		tc.WithWaitStrategyAndDeadline(readyTimeout, ready),
	)
	if err != nil {
		return err
	}
	s.container, s.running = ctr, true
	return s.findAddress(ctx)
}

func (s *dockerServer) findAddress(ctx context.Context) (err error) {
	s.address, err = s.container.PortEndpoint(ctx, containerPort, "")
	return err
}

func (s *dockerServer) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return nil
	}
	if err := s.container.Start(ctx); err != nil {
		return err
	}
	s.running = true
	return s.findAddress(ctx)
}

func (s *dockerServer) stop(ctx context.Context, how shutdown) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return nil
	}
	patience := stopTimeout
	if how == immediateShutdown {
		patience = 0
	}
	if err := s.container.Stop(ctx, &patience); err != nil {
		return err
	}
	s.running = false
	return nil
}

func (s *dockerServer) close(ctx context.Context) error {
	return tc.TerminateContainer(s.container, tc.StopContext(ctx))
}

// remove ends a creation that failed. The container may exist although nobody was told its id.
func (s *dockerServer) remove(ctx context.Context, docker *tc.DockerClient) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_, err := docker.ContainerRemove(ctx, s.name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

func (s *dockerServer) connString(database string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url(s.address, database)
}

func (s *dockerServer) tcpConnString(database string) string { return s.connString(database) }

func (s *dockerServer) url(address, database string) string {
	if database == "" {
		database = containerUser
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(containerUser, s.password),
		Host:     address,
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

func (s *dockerServer) String() string { return fmt.Sprintf("container %s (%s)", s.name, s.image) }

// containerLogger passes what testcontainers-go logs on as debugging output.
type containerLogger struct{ logger *slog.Logger }

func (l containerLogger) Printf(format string, args ...any) {
	l.logger.Debug(strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// ping connects once.
func ping(ctx context.Context, connString string) error {
	return withConn(ctx, connString, func(*pgx.Conn) error { return nil })
}
