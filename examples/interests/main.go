// Command interests is an assistant that remembers what its users like, in a real Postgres, and finds it by what they ask.
//
// Two interests are stored; "What are my food preferences?" finds the one, "What is my favorite sport?" the other. Each
// user has a namespace, so that nobody is told what somebody else likes. At the end the program prints the rows as they
// lie in the tables.
//
// It needs no configuration and no model: it finds or starts a Postgres with pgvector by itself, removes what it started,
// and embeds texts with the local embedder, which finds what shares words with the question; a model would also find what
// shares only the meaning. With DATABASE_URL it uses that server instead, in a database of its own.
package main

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/examples/internal/demo"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
)

func main() { demo.Main("interests", "", run) }

// dims are the dimensions of the embedder's vectors, and so of the index in the database.
const dims = 384

func run(ctx context.Context, databaseURL string, out io.Writer) error {
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()

	// Once for each database. A DBA may do it, so that the program needs no right to make tables.
	if _, err := pool.Exec(ctx, "select langgraph.enable_vector_index($1)", dims); err != nil {
		return err
	}
	memory := pgstore.New(pool, &pgstore.Config{
		// store.NewHTTPEmbedder is the one for a model, with that model's dimensions.
		Index: &store.IndexConfig{Dims: dims, Embed: store.NewLocalEmbedder(dims)},
	})
	if err := findByMeaning(ctx, memory, out); err != nil {
		return err
	}
	if err := answerUsers(ctx, memory, out); err != nil {
		return err
	}
	return showTables(ctx, pool, out)
}
