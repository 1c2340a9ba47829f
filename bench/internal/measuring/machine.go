package measuring

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// CPUModel is the processor's name, or its architecture where the system does not say.
func CPUModel() string {
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

// LoadAverage tells whether others were using the machine; empty where the system does not say.
func LoadAverage() string {
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
