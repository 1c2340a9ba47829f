package pgstore_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
	"github.com/pgweft/pgweft/testcontainers"
)

// What a user said is found again by what it means.
func Example() {
	ctx := context.Background()
	pool, closePool := connect(ctx)
	defer closePool()
	// Once for each database; a DBA may do it.
	if _, err := pool.Exec(ctx, "select langgraph.enable_vector_index(384)"); err != nil {
		panic(err)
	}

	memory := pgstore.New(pool, &pgstore.Config{
		Index: &store.IndexConfig{Dims: 384, Embed: store.NewLocalEmbedder(384), Fields: []string{"text"}},
	})
	interests := []string{"ann", "interests"}
	for key, said := range map[string]string{
		"foods": "I love eating spicy Sichuan food.", "sports": "My favorite sport is swimming.",
	} {
		if err := store.Put(ctx, memory, interests, key, map[string]any{"text": said}); err != nil {
			panic(err)
		}
	}
	found, err := store.Search(ctx, memory, store.SearchOp{
		NamespacePrefix: interests, Query: "What is my favorite sport?", Limit: 1,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(found[0].Key, found[0].Value["text"])
	// Output: sports My favorite sport is swimming.
}

// A batch reads what was there before it, and its writes are done together or not at all.
func ExampleStore_Batch() {
	ctx := context.Background()
	pool, closePool := connect(ctx)
	defer closePool()
	memory := pgstore.New(pool, nil)
	profile := []string{"ann", "profile"}
	for _, city := range []string{"Chengdu", "Lisbon"} {
		results, err := memory.Batch(ctx,
			store.PutOp{Namespace: profile, Key: "city", Value: map[string]any{"name": city}},
			store.PutOp{Namespace: profile, Key: "weather", Value: map[string]any{"in": city}, TTL: 30 * time.Minute},
			store.GetOp{Namespace: profile, Key: "city"})
		if err != nil {
			panic(err)
		}
		if before := results[2].Item; before != nil {
			fmt.Println("moved from", before.Value["name"], "to", city)
		}
	}
	// Output: moved from Chengdu to Lisbon
}

// What is put in a transaction commits with the application's own rows, or not at all.
func ExampleStore_WithTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	memory := pgstore.New(pool, nil)
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "insert into orders (customer) values ('ann')"); err != nil {
			return err
		}
		return store.Put(ctx, memory.WithTx(tx), []string{"ann"}, "last_order", map[string]any{"item": "wok"})
	})
	if err != nil {
		panic(err)
	}
}

// Readers do not see expired items; sweeping them gives their space back.
func ExampleStore_StartSweeper() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	memory := pgstore.New(pool, &pgstore.Config{TTL: &store.TTLConfig{DefaultTTL: 24 * time.Hour}})
	sweeper, err := memory.StartSweeper(5*time.Minute, pgstore.SweepOptions{}, func(err error) { fmt.Println("sweep:", err) })
	if err != nil {
		panic(err)
	}
	defer func() { _ = sweeper.Close(ctx) }()
}

// connect is a pool on a Postgres found or started for the example, and prepared as "migrate up" does.
func connect(ctx context.Context) (*pgxpool.Pool, func()) {
	postgres, err := testcontainers.Run(ctx, testcontainers.WithoutFsync())
	if err != nil {
		panic(err)
	}
	pool, err := pgxpool.New(ctx, postgres.ConnString())
	if err != nil {
		panic(err)
	}
	return pool, func() {
		pool.Close()
		if err := postgres.Close(ctx); err != nil {
			panic(err)
		}
	}
}
