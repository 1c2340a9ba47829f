package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// server watches what a database's server processes use, from a connection of its own.
type server struct {
	url      string
	database string
	conn     *pgx.Conn
	readable bool // whether the processor time of server processes can be read
}

func watch(ctx context.Context, databaseURL string) (*server, error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	s := &server{url: databaseURL, conn: conn}
	err = conn.QueryRow(ctx, "select current_database(), has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'execute')").
		Scan(&s.database, &s.readable)
	return s, err
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
	u.cpu, err = s.processorTime(ctx)
	return u, err
}

// processorTime is that of each client's server process, parallel workers left out. Who else uses the machine disturbs it
// little; nil where the server is not on Linux or its user may not read its files.
func (s *server) processorTime(ctx context.Context) (map[int32]time.Duration, error) {
	if !s.readable {
		return nil, nil
	}
	rows, err := s.conn.Query(ctx, `select pid, pg_read_file('/proc/' || pid || '/schedstat', 0, 100, true)
		from pg_stat_activity
		where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`)
	if err != nil {
		return nil, err
	}
	times := map[int32]time.Duration{}
	var pid int32
	var schedstat *string
	_, err = pgx.ForEachRow(rows, []any{&pid, &schedstat}, func() error {
		if schedstat == nil {
			return nil
		}
		onCPU, _, _ := strings.Cut(*schedstat, " ")
		nanoseconds, err := strconv.ParseInt(onCPU, 10, 64)
		times[pid] = time.Duration(nanoseconds)
		return err
	})
	return times, err
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
