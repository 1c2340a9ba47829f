package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"

	"github.com/pgweft/pgweft/migrations"
)

// DefaultImage is the Docker image that [Run] starts unless [WithImage] or the environment variable
// PGWEFT_TEST_DOCKER_IMAGE names another.
const DefaultImage = "pgvector/pgvector:pg17"

// Backend is where the server of a [Postgres] comes from.
type Backend int

// The backends. The documentation of the package has the order in which Auto tries them.
const (
	Auto        Backend = iota // the first that is there
	DatabaseURL                // the server that DATABASE_URL names
	Docker                     // a container, through testcontainers-go
	Local                      // this machine's binaries
)

// String is the backend's name as it stands in Go.
func (b Backend) String() string {
	switch b {
	case Auto:
		return "Auto"
	case DatabaseURL:
		return "DatabaseURL"
	case Docker:
		return "Docker"
	case Local:
		return "Local"
	}
	return fmt.Sprintf("Backend(%d)", int(b))
}

// Option changes what [Run] does.
type Option func(*config)

type config struct {
	backend     Backend
	databaseURL string
	fsync       bool
	image       string
	logger      *slog.Logger
	migrate     bool
	pickPort    func(context.Context) (int, error)
	schema      string
	settings    map[string]string
	vector      bool
}

// WithBackend takes that backend and no other. Run then fails where it is not there.
func WithBackend(b Backend) Option { return func(c *config) { c.backend = b } }

// WithImage sets the Docker image. It must understand the environment of the official postgres image and hold pgvector.
func WithImage(image string) Option { return func(c *config) { c.image = image } }

// WithLogger logs the steps of starting and stopping. The default logs nothing.
func WithLogger(logger *slog.Logger) Option { return func(c *config) { c.logger = logger } }

// WithSchema sets the schema that is migrated; the default is that of package migrations, "langgraph".
func WithSchema(schema string) Option { return func(c *config) { c.schema = schema } }

// WithSettings sets parameters of postgresql.conf, such as {"wal_level": "logical"}, in addition to those of earlier
// options. They are given to the server at its start, so Run fails where the server is the one of DATABASE_URL.
func WithSettings(settings map[string]string) Option {
	return func(c *config) {
		for name, value := range settings {
			c.settings[name] = value
		}
	}
}

// WithoutFsync turns fsync off: faster, but not what production does. It has no effect on the server of DATABASE_URL.
func WithoutFsync() Option { return func(c *config) { c.fsync = false } }

// WithoutMigrations leaves the database without this module's schema, for tests of the migrations themselves.
func WithoutMigrations() Option { return func(c *config) { c.migrate = false } }

// WithoutVector leaves the database without the extension vector, which the server then need not have.
func WithoutVector() Option { return func(c *config) { c.vector = false } }

func newConfig(opts []Option) (config, error) {
	c := config{
		databaseURL: os.Getenv("DATABASE_URL"),
		fsync:       true,
		image:       os.Getenv("PGWEFT_TEST_DOCKER_IMAGE"),
		logger:      slog.New(slog.DiscardHandler),
		migrate:     true,
		pickPort:    freePort,
		schema:      migrations.DefaultSchema,
		settings:    map[string]string{},
		vector:      true,
	}
	if c.image == "" {
		c.image = DefaultImage
	}
	for _, opt := range opts {
		opt(&c)
	}
	return c, c.validate()
}

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$`)

// ownSettings are the parameters that a backend sets itself, each with what to do instead.
var ownSettings = map[string]string{
	"config_file":             "the cluster's own is used",
	"data_directory":          "the backend chooses it",
	"external_pid_file":       "the backend tracks the server",
	"fsync":                   "use WithoutFsync",
	"hba_file":                "the cluster's own is used",
	"ident_file":              "the cluster's own is used",
	"listen_addresses":        "the backend chooses them",
	"logging_collector":       "the backend reads the server's log from its standard error",
	"port":                    "the backend chooses it",
	"unix_socket_directories": "the backend chooses it",
}

func (c *config) validate() error {
	if c.backend < Auto || c.backend > Local {
		return fmt.Errorf("WithBackend: there is no %v", c.backend)
	}
	if c.image == "" {
		return errors.New("WithImage: the image has no name")
	}
	if c.logger == nil {
		return errors.New("WithLogger: the logger is nil")
	}
	if c.schema == "" {
		return errors.New("WithSchema: the schema has no name")
	}
	for name, value := range c.settings {
		if !settingName.MatchString(name) {
			return fmt.Errorf("WithSettings: %q is not the name of a setting: use lower case, such as shared_buffers", name)
		}
		if why, own := ownSettings[name]; own {
			return fmt.Errorf("WithSettings: %s cannot be set: %s", name, why)
		}
		if slices.Contains([]byte(value), 0) {
			return fmt.Errorf("WithSettings: the value of %s has a zero byte in it", name)
		}
	}
	return nil
}

// serverArgs are the command line arguments of postgres that carry the settings, in a fixed order.
func (c *config) serverArgs() []string {
	args := []string{"-c", "fsync=on"}
	if !c.fsync {
		args[1] = "fsync=off"
	}
	names := make([]string, 0, len(c.settings))
	for name := range c.settings {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		args = append(args, "-c", name+"="+c.settings[name])
	}
	return args
}

// freePort asks the system for a loopback port that nobody listens on. Somebody else may take it before the server does.
func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
