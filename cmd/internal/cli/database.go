package cli

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/migrations"
)

// connectTimeout holds where neither the connection string nor PGCONNECT_TIMEOUT names one.
const connectTimeout = 15 * time.Second

// Database is where a command works: the flags --database and --schema, and the environment behind them.
type Database struct {
	url, schema string
	getenv      func(string) string
}

// NewDatabase adds the flags that find the database and the schema to a command and those below it.
func NewDatabase(root *cobra.Command, env Environment) *Database {
	d := &Database{getenv: env.Getenv}
	flags := root.PersistentFlags()
	flags.StringVar(&d.url, "database", "", "connection string or URL (default: DATABASE_URL, then the PG* variables)")
	flags.StringVar(&d.schema, "schema", "", "schema to work on (default: PGWEFT_SCHEMA, then \""+migrations.DefaultSchema+"\")")
	return d
}

// ConnConfig is how to connect; a connection string that cannot be read is a usage error.
func (d *Database) ConnConfig() (*pgx.ConnConfig, error) {
	url := d.url
	if url == "" {
		url = d.getenv("DATABASE_URL")
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, UsageError{err}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	return config, nil
}

// Schema is the name of the schema to work on.
func (d *Database) Schema() string {
	for _, name := range []string{d.schema, d.getenv("PGWEFT_SCHEMA")} {
		if name != "" {
			return name
		}
	}
	return migrations.DefaultSchema
}
