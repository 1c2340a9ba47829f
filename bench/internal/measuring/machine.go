package measuring

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Machine is what figures depend on.
type Machine struct {
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Load     string            `json:"load_average,omitempty"` // tells whether others were using the machine
	Go       string            `json:"go"`
	Postgres string            `json:"postgres"`
	PGVector string            `json:"pgvector"`
	Settings map[string]string `json:"settings"`
}

// Describe reads what the machine is, and these settings of its server.
func Describe(ctx context.Context, conn *pgx.Conn, settings ...string) (Machine, error) {
	m := Machine{
		CPU: cpuModel(), Cores: runtime.NumCPU(), Load: loadAverage(), Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Settings: map[string]string{},
	}
	err := conn.QueryRow(ctx, `select current_setting('server_version'),
		(select extversion from pg_extension where extname = 'vector')`).Scan(&m.Postgres, &m.PGVector)
	if err != nil {
		return m, err
	}
	for _, name := range settings {
		var value string
		if err := conn.QueryRow(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return m, err
		}
		m.Settings[name] = value
	}
	return m, nil
}

// String is the machine in a sentence.
func (m Machine) String() string {
	text := fmt.Sprintf("PostgreSQL %s, pgvector %s, %s; %s, %d cores", m.Postgres, m.PGVector, m.Go, m.CPU, m.Cores)
	if m.Load != "" {
		text += " (load average at the start: " + m.Load + ")"
	}
	text += "; "
	for _, name := range slices.Sorted(maps.Keys(m.Settings)) {
		text += name + " " + m.Settings[name] + ", "
	}
	return text + "else the server's defaults."
}

// cpuModel is the processor's name, or its architecture where the system does not say.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// loadAverage is empty where the system does not say.
func loadAverage() string {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(load))[:3], " ")
}

// Percentile is the nearest rank, in milliseconds; 0 where nothing was timed.
func Percentile(times []time.Duration, percent int) float64 {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	rank := (len(sorted)*percent + 99) / 100
	return float64(sorted[max(rank, 1)-1].Nanoseconds()) / 1e6
}
