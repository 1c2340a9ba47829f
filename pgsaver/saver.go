package pgsaver

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/pgschema"
	"github.com/pgweft/pgweft/serde"
)

// DefaultSchema is the schema that Config.Schema "" means.
const DefaultSchema = pgschema.DefaultName

// DB is what a Saver needs of a connection. *pgxpool.Pool, *pgx.Conn and pgx.Tx all have it; only the pool may be shared
// between goroutines.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Config is what can be chosen about a Saver. A nil Config takes every default.
type Config struct {
	// Reader serves Get and List, for instance a pool of a replica, which may lag behind. Nil means the Saver's own DB.
	Reader DB

	// Schema is where pgweft is installed. Empty means DefaultSchema.
	Schema string

	// Serde turns values into bytes and back. Nil means serde.Default(). A serializer that encrypts keeps every value
	// out of the JSON of the checkpoint, where primitives otherwise stand in plain text.
	Serde serde.Serializer
}

// Saver keeps checkpoints in Postgres. It implements checkpoint.Saver, checkpoint.Forker and checkpoint.StepPutter, is safe
// for concurrent use if its DB is, and starts no goroutines.
type Saver struct {
	db     DB
	reader DB
	serde  serde.Serializer
	sql    *queries
	schema *pgschema.Check
}

var (
	_ checkpoint.Saver      = (*Saver)(nil)
	_ checkpoint.Forker     = (*Saver)(nil)
	_ checkpoint.StepPutter = (*Saver)(nil)
)

// New makes a Saver on a database that "migrate up" has prepared. It opens nothing and cannot fail; a missing or
// unsuitable schema is ErrSchemaMissing, ErrSchemaOutdated or ErrSchemaNewer at the first call.
func New(db DB, config *Config) *Saver {
	if config == nil {
		config = &Config{}
	}
	saver := &Saver{db: db, reader: config.Reader, serde: config.Serde}
	if saver.reader == nil {
		saver.reader = db
	}
	if saver.serde == nil {
		saver.serde = serde.Default()
	}
	schema := config.Schema
	if schema == "" {
		schema = DefaultSchema
	}
	saver.sql = newQueries(schema, saver.reader)
	saver.schema = pgschema.NewCheck(schema, databaseErrors)
	return saver
}

// WithTx is the same Saver inside a transaction: what it saves commits with the application's own rows, or not at all. It
// also reads there, so that it sees what it saved. An error of the database ends the transaction, as always.
func (s *Saver) WithTx(tx pgx.Tx) *Saver {
	inside := *s
	inside.db, inside.reader = tx, tx
	return &inside
}

// Get reads one checkpoint, by get_checkpoint, or by checkpoint_tuple where statements stay prepared: the one that config names,
// or the newest of its namespace. checkpoint.ErrNotFound when there is none.
func (s *Saver) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	if err := s.ready(ctx, s.reader); err != nil {
		return nil, err
	}
	rows, err := s.reader.Query(ctx, s.sql.get, config.ThreadID, config.Namespace, orNull(config.CheckpointID))
	if err != nil {
		return nil, wrapError("get", err)
	}
	lent := s.sql.getRows.lend(config.ThreadID, config.Namespace)
	defer lent.release()
	found, err := pgx.CollectOneRow(rows, lent.read)
	if err != nil {
		return nil, wrapError("get", notFound(err, config))
	}
	tuple, err := s.tuple(found)
	if err != nil {
		return nil, fmt.Errorf("pgsaver: get: %w", err)
	}
	return tuple, nil
}

// List reads checkpoints newest first, by list_checkpoints, and occupies a connection while it does. It reads them in pages of
// about 2 MB (the first of 32 checkpoints), so that neither side keeps more, however many there are. Each page is a query of its
// own that sees what is committed by then: checkpoints saved meanwhile have IDs above those still to come, and are not in the
// list. A list by Filter over all threads is one query, of which Postgres keeps the result in temporary files.
func (s *Saver) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	return func(yield func(*checkpoint.Tuple, error) bool) {
		if err := s.list(ctx, config, options, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (s *Saver) list(ctx context.Context, config checkpoint.Config, options checkpoint.ListOptions,
	yield func(*checkpoint.Tuple, error) bool,
) error {
	filter, err := jsonOrNull(options.Filter)
	if err != nil {
		return fmt.Errorf("pgsaver: list: filter: %w: %w", checkpoint.ErrInvalidArgument, err)
	}
	if err := s.ready(ctx, s.reader); err != nil {
		return err
	}
	listing := newListing(config, options, filter)
	for more := true; more; {
		if more, err = s.listPage(ctx, listing, yield); err != nil {
			return err
		}
	}
	return nil
}

// Put saves a checkpoint and the values that changed with it, by put_checkpoint.
func (s *Saver) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	buffer := serde.NewBuffer()
	defer buffer.Release()
	encoded, err := s.encode(buffer, cp, metadata, newVersions)
	if err != nil {
		return checkpoint.Config{}, fmt.Errorf("pgsaver: put: %w", err)
	}
	if err := s.ready(ctx, s.db); err != nil {
		return checkpoint.Config{}, err
	}
	if _, err := s.db.Exec(ctx, s.sql.put, encoded.argsWithLargest(config, cp)...); err != nil {
		return checkpoint.Config{}, wrapError("put", err)
	}
	config.CheckpointID = cp.ID
	return config, nil
}

// PutWrites saves what one task wrote, by put_writes.
func (s *Saver) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	buffer := serde.NewBuffer()
	defer buffer.Release()
	encoded, err := s.encodeWrites(buffer, writes)
	if err != nil {
		return fmt.Errorf("pgsaver: put writes: %w", err)
	}
	if err := s.ready(ctx, s.db); err != nil {
		return err
	}
	_, err = s.db.Exec(ctx, s.sql.putWrites, config.ThreadID, config.Namespace, config.CheckpointID, taskID, taskPath,
		encoded.channels, encoded.types, encoded.blobs)
	return wrapError("put writes", err)
}

// PutStep saves a checkpoint and the writes of its tasks atomically, by put_step.
func (s *Saver) PutStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version, writes []checkpoint.Write,
) (checkpoint.Config, error) {
	buffer := serde.NewBuffer()
	defer buffer.Release()
	encoded, err := s.encode(buffer, cp, metadata, newVersions)
	if err != nil {
		return checkpoint.Config{}, fmt.Errorf("pgsaver: put step: %w", err)
	}
	encodedWrites, err := s.encodeWrites(buffer, writes)
	if err != nil {
		return checkpoint.Config{}, fmt.Errorf("pgsaver: put step: %w", err)
	}
	if err := s.ready(ctx, s.db); err != nil {
		return checkpoint.Config{}, err
	}
	args := append(encoded.args(config, cp), encodedWrites.taskIDs, encodedWrites.taskPaths, encodedWrites.channels,
		encodedWrites.types, encodedWrites.blobs)
	if _, err := s.db.Exec(ctx, s.sql.putStep, args...); err != nil {
		return checkpoint.Config{}, wrapError("put step", err)
	}
	config.CheckpointID = cp.ID
	return config, nil
}

// DeleteThread removes a thread in every namespace, by delete_thread. checkpoint.ErrPinned when one of its checkpoints is
// pinned.
func (s *Saver) DeleteThread(ctx context.Context, threadID string) error {
	if err := s.ready(ctx, s.db); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, s.sql.deleteThread, threadID)
	return wrapError("delete thread", err)
}

// Fork branches from a checkpoint, by fork_checkpoint.
func (s *Saver) Fork(ctx context.Context, config checkpoint.Config,
	options checkpoint.ForkOptions,
) (checkpoint.Config, error) {
	metadata, err := json.Marshal(options.Metadata)
	if err != nil {
		return checkpoint.Config{}, fmt.Errorf("pgsaver: fork: %w: %w", checkpoint.ErrInvalidArgument, err)
	}
	if err := s.ready(ctx, s.db); err != nil {
		return checkpoint.Config{}, err
	}
	rows, err := s.db.Query(ctx, s.sql.fork, config.ThreadID, config.Namespace, config.CheckpointID, orNull(options.ID),
		string(metadata), options.CopyBlobs)
	if err != nil {
		return checkpoint.Config{}, wrapError("fork", err)
	}
	config.CheckpointID, err = pgx.CollectOneRow(rows, pgx.RowTo[string])
	if err != nil {
		return checkpoint.Config{}, wrapError("fork", err)
	}
	return config, nil
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// jsonOrNull encodes metadata as a JSON parameter: text, because every exec mode sends text to a jsonb parameter.
func jsonOrNull(metadata checkpoint.Metadata) (*string, error) {
	if metadata == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	text := string(encoded)
	return &text, nil
}
