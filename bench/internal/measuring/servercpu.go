package measuring

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// ServerCPU is the processor time that each client's server process in the connection's database has used, by process, without
// parallel workers. Who else uses the machine disturbs it little. It is nil where it cannot be known: the server is not on
// Linux, or its user may not read its files.
func ServerCPU(ctx context.Context, conn *pgx.Conn) (map[int32]time.Duration, error) {
	var readable bool
	err := conn.QueryRow(ctx, "select has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'execute')").Scan(&readable)
	if err != nil || !readable {
		return nil, err
	}
	rows, err := conn.Query(ctx, `select pid, pg_read_file('/proc/' || pid || '/schedstat', 0, 100, true)
		from pg_stat_activity
		where datname = current_database() and backend_type = 'client backend'`)
	if err != nil {
		return nil, err
	}
	var times map[int32]time.Duration
	var pid int32
	var schedstat *string
	_, err = pgx.ForEachRow(rows, []any{&pid, &schedstat}, func() error {
		if schedstat == nil {
			return nil
		}
		onCPU, _, _ := strings.Cut(*schedstat, " ")
		nanoseconds, err := strconv.ParseInt(onCPU, 10, 64)
		if times == nil {
			times = map[int32]time.Duration{}
		}
		times[pid] = time.Duration(nanoseconds)
		return err
	})
	return times, err
}
