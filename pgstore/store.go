package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgweft/pgweft/internal/pgschema"
	"github.com/pgweft/pgweft/store"
)

// DefaultSchema is the schema that Config.Schema "" means.
const DefaultSchema = pgschema.DefaultName

// DB is what a Store needs of a connection. *pgxpool.Pool, *pgx.Conn and pgx.Tx all have it; only the pool may be shared
// between goroutines.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Config is what can be chosen about a Store. A nil Config takes every default.
type Config struct {
	// Index makes items findable by meaning. It needs the vector index that the SQL function enable_vector_index makes, of
	// the same dimensions and, where they are set, the same distance and vector type. Nil means that nothing is embedded.
	Index *store.IndexConfig

	// Reader serves the batches that write nothing: no puts, and no reads that refresh. It can be a pool of a replica,
	// which may lag behind. Nil means the Store's own DB.
	Reader DB

	// Schema is where pgweft is installed. Empty means DefaultSchema.
	Schema string

	// TTL is how long items live. Nil means that they last unless a put says otherwise, and that reading starts the time to
	// live of those that do not last anew.
	TTL *store.TTLConfig
}

// Store keeps items in Postgres. It implements store.Store, is safe for concurrent use if its DB is, and starts no
// goroutines unless StartSweeper is called.
type Store struct {
	db     DB
	reader DB
	// inTx says that db is a transaction that goes on after a batch.
	inTx    bool
	index   *store.IndexConfig
	ttl     *store.TTLConfig
	sql     *queries
	schema  *pgschema.Check
	vectors *vectorCheck
	// misconfigured is what is wrong with the Config.
	misconfigured error
}

var _ store.Store = (*Store)(nil)

// New makes a Store on a database that "migrate up" has prepared. It opens nothing and cannot fail. What does not suit is
// said at the first call: a missing or unsuitable schema (ErrSchemaMissing, ErrSchemaOutdated, ErrSchemaNewer), a vector
// index that is missing (store.ErrNotEnabled) or another than Config.Index describes (ErrIndexMismatch), and a Config that
// cannot be used (store.ErrInvalidArgument).
func New(db DB, config *Config) *Store {
	if config == nil {
		config = &Config{}
	}
	schema := config.Schema
	if schema == "" {
		schema = DefaultSchema
	}
	s := &Store{
		db:      db,
		reader:  config.Reader,
		inTx:    isTx(db),
		index:   config.Index,
		ttl:     config.TTL,
		sql:     newQueries(schema),
		schema:  pgschema.NewCheck(schema, databaseErrors),
		vectors: &vectorCheck{schema: schema},
	}
	if s.reader == nil {
		s.reader = db
	}
	s.misconfigured = config.validate()
	return s
}

func (c *Config) validate() error {
	if err := c.Index.Validate(); err != nil {
		return fmt.Errorf("pgstore: config: index: %w", err)
	}
	if err := c.TTL.Validate(); err != nil {
		return fmt.Errorf("pgstore: config: TTL: %w", err)
	}
	return nil
}

func isTx(db DB) bool {
	_, is := db.(pgx.Tx)
	return is
}

// WithTx is the same Store inside a transaction: what it puts commits with the application's own rows, or not at all. It
// also reads there, so that it sees what it put. An error of the database ends the transaction, as always.
func (s *Store) WithTx(tx pgx.Tx) *Store {
	inside := *s
	inside.db, inside.reader, inside.inTx = tx, tx, true
	return &inside
}

// Batch does the operations, by store_get, store_search, store_list_namespaces and store_put, in one round trip and one
// transaction. Before that, texts are embedded, which takes one more round trip if the batch puts any.
func (s *Store) Batch(ctx context.Context, ops ...store.Op) ([]store.Result, error) {
	if s.misconfigured != nil {
		return nil, s.misconfigured
	}
	batch, err := s.newBatch(ops)
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	if len(ops) == 0 {
		return batch.results, nil
	}
	db := s.db
	if batch.readsOnly() {
		db = s.reader
	}
	if err := s.ready(ctx, db); err != nil {
		return nil, err
	}
	if err := s.embed(ctx, batch); err != nil {
		return nil, err
	}
	if err := s.sendUntilDone(ctx, db, batch); err != nil {
		return nil, err
	}
	return batch.results, nil
}

// ready returns nil where the schema, and the vector index if there is to be one, suit this Store.
func (s *Store) ready(ctx context.Context, db DB) error {
	if err := s.schema.Ready(ctx, db); err != nil {
		return err
	}
	if s.index == nil {
		return nil
	}
	return s.vectors.ready(ctx, db, s.sql, s.index)
}
