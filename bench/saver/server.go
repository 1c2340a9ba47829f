package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// server watches what a database's server processes use, from a connection of its own.
type server struct {
	url      string
	database string
	conn     *pgx.Conn
}

func watch(ctx context.Context, databaseURL string) (*server, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	s := &server{url: databaseURL, conn: conn}
	return s, conn.QueryRow(ctx, "select current_database()").Scan(&s.database)
}

func (s *server) close(ctx context.Context) {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = s.conn.Close(closing) // nothing is left to lose
}

// usage is a reading of the counters of a server.
type usage struct {
	cpu  map[int32]time.Duration // by server process; nil where it cannot be read
	wal  int64
	disk int64
}

// read reads the counters. Disk is read only where it is asked for, because it takes a while.
func (s *server) read(ctx context.Context, disk bool) (u usage, err error) {
	if disk {
		err = s.conn.QueryRow(ctx, `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint
			from pg_class
			where relkind = 'r' and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`).Scan(&u.disk)
		if err != nil {
			return u, err
		}
	}
	if err := s.conn.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&u.wal); err != nil {
		return u, err
	}
	u.cpu, err = measuring.ServerCPU(ctx, s.conn)
	delete(u.cpu, int32(s.conn.PgConn().PID())) //nolint:gosec // the ids of processes are 32 bits with a sign
	return u, err
}

// cpuBetween is the processor time between two readings; false where it cannot be known: nothing could be read, or a server
// process ended and took its share with it.
func cpuBetween(before, after usage) (time.Duration, bool) {
	if len(after.cpu) == 0 {
		return 0, false
	}
	var total time.Duration
	for pid := range before.cpu {
		if _, lives := after.cpu[pid]; !lives {
			return 0, false
		}
	}
	for pid, spent := range after.cpu {
		total += spent - before.cpu[pid]
	}
	return total, true
}
