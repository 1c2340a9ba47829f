// Package pgstore keeps an agent's long-term memory in Postgres. It is a thin map onto pgweft's SQL functions: values become
// JSON, texts become vectors, the functions are called, and rows and SQLSTATEs are mapped back. Every rule about the data is
// in those functions, so that psql, Python and Go behave alike; the tables are those of LangGraph's own Postgres store, and
// items are shared with Python agents.
//
//	pool, err := pgxpool.New(ctx, databaseURL)
//	memory := pgstore.New(pool, nil)
//	err = store.Put(ctx, memory, []string{"ann", "interests"}, "sports", map[string]any{"text": "I swim."})
//
// A batch, however many operations it has, is one round trip and one transaction. What it needs from the embedder it gets
// before, so that no transaction waits for a model: the vectors of its queries, and those of the texts it puts, in one call.
// Before that call it asks in one more round trip which texts are stored with their vectors already, and embeds only the
// others.
//
// The schema is never changed from here: "migrate up" installs it, and the SQL function enable_vector_index prepares it for
// searches by meaning. A Store checks once that both suit it, which costs the first call one more round trip, or two with
// an index.
//
// It works in every exec mode of pgx, so also through poolers in transaction mode.
package pgstore
