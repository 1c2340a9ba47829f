// Package store is the vocabulary of an agent's long-term memory: items under hierarchical namespaces, the operations on
// them, and the interface of whatever keeps them. The names are LangGraph's where a LangGraph user would look for them.
//
// A [Store] does batches of operations, and nothing else; [Get], [Put], [Delete], [Search] and [ListNamespaces] are batches
// of one. What an item says can be found by meaning when the store has an [IndexConfig]: the texts at its paths are turned
// into vectors by an [Embedder], and the query too. [NewLocalEmbedder] needs no service, [NewHTTPEmbedder] speaks the
// embeddings API that OpenAI and most servers of models have, and embedders of langchaingo fit as they are.
//
// The package knows no database. Package pgstore implements [Store] on Postgres; package storetest checks any
// implementation.
package store
