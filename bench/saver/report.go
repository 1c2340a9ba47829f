package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// results are all that a run found out.
type results struct {
	Options options           `json:"options"`
	Machine measuring.Machine `json:"machine"`
	Sides   []about           `json:"sides"`
	Targets []target          `json:"targets"`
	Cases   []*benchmarkCase  `json:"cases"`
}

// settings are those of the server that figures depend on.
var settings = []string{"shared_buffers", "work_mem", "max_wal_size", "fsync", "full_page_writes", "autovacuum", "jit"}

func (r *results) write(out io.Writer, directory string) error {
	r.judge()
	charts := r.charts()
	report := r.markdown(charts)
	if directory == "" {
		_, err := io.WriteString(out, report)
		return err
	}
	encoded, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{"benchmarks.json": string(encoded) + "\n", "benchmarks.md": report}
	for _, c := range charts {
		files[filepath.Join("benchmarks", c.file)] = c.svg()
	}
	if err := os.MkdirAll(filepath.Join(directory, "benchmarks"), 0o755); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	for _, name := range sortedKeys(files) {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(files[name]), 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	_, err = io.WriteString(out, report)
	return err
}

func (r *results) markdown(charts []chart) string {
	var text strings.Builder
	w := bufio.NewWriter(&text)
	r.writeHead(w)
	r.writeTargets(w)
	r.writeSides(w)
	if len(charts) > 0 {
		fmt.Fprint(w, "\n## How cost grows\n\nBoth axes are logarithmic: a line that is level costs the same at any size. The names on the right are in the order "+
			"of the lines' right ends.\n")
	}
	for _, c := range charts {
		fmt.Fprintf(w, "\n![%s: %s](benchmarks/%s)\n", c.title, c.y, c.file)
	}
	r.writeCases(w)
	_ = w.Flush() // a strings.Builder takes everything
	return text.String()
}

func (r *results) writeHead(w *bufio.Writer) {
	fmt.Fprintf(w, `# The savers and the store, measured

Written by `+"`make bench`"+`; do not edit. All sides do the same operations with the same payloads on the same server with the same
durability, in turns: a round of each, then another in the opposite order, rounds: %d, and %d where few would
differ too much: puts that wait for the disk alone, and small gets. Reads decode into the side's own objects and are compared with
what was written.

- **per second**: the median of the rounds, with the slowest and the fastest round in brackets: of as many clients as there are
  connections, each sending its next call when the last has answered. **x pgweft** is that divided by pgweft's: above 1 is faster.
- **p50, p95, p99**: what a client waits for one call, in milliseconds, over the calls of all rounds.
- **server CPU**: microseconds of processor time of the clients' server processes a call. Others who use the machine disturb it
  least, so that it is the figure to compare runs by.
- **WAL, disk**: bytes a call; disk only where the call adds something.
- **allocations, allocated**: objects and bytes that the client allocates a call, where it is in this process.

%s

The databases have %s checkpoints but where said otherwise; a side whose tables are not LangGraph's has only those that are read.
Seed %d; the text of the payloads follows the words of a book, with numbers.
`, r.Options.Rounds, manyTimes*r.Options.Rounds, r.Machine, thousands(slices.Max(append(r.Options.Sizes.Databases, 0))), r.Options.Seed)
}

// designs is what is written by hand beside the report: what was tried for the targets that are missed, and what came of it.
const designs = "benchmark-designs.md"

func (r *results) writeTargets(w *bufio.Writer) {
	if r.Options.Quick {
		fmt.Fprint(w, "\n**This was a smoke test (--quick): its figures are too few to judge by.**\n")
	}
	count := map[string]int{}
	for _, t := range r.Targets {
		count[t.Met]++
	}
	fmt.Fprintf(w, "\n## Targets\n\n%d met, %d missed, %d not measured. What was tried for those missed: [%s](%s).\n\n"+
		"| pgweft's | wanted | measured | |\n|---|---|---:|---|\n", count[met], count[missed], count[notMeasured], designs, designs)
	for _, t := range r.Targets {
		verdict := t.Met
		if verdict == missed {
			verdict = "**" + missed + "**"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", t.Name, t.Wanted, oneLine(t.Got), verdict)
	}
}

func (r *results) writeSides(w *bufio.Writer) {
	fmt.Fprint(w, "\n## Sides\n\n| | what it is | runs on | versions |\n|---|---|---|---|\n")
	for _, a := range r.Sides {
		if why := a.Absent + a.Problem; why != "" {
			fmt.Fprintf(w, "| %s | **not measured**: %s | | |\n", a.Side, oneLine(why))
			continue
		}
		var versions []string
		for _, name := range sortedKeys(a.Versions) {
			versions = append(versions, name+" "+a.Versions[name])
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", a.Side, oneLine(a.Title), oneLine(a.Runtime), strings.Join(versions, ", "))
	}
}

// oneLine is text that fits into a cell of a table.
func oneLine(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
	const longest = 300
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return text
}

func (r *results) writeCases(w *bufio.Writer) {
	group := ""
	for _, c := range r.Cases {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(w, "\n## %s\n\n%s\n", strings.ToUpper(group[:1])+group[1:], groupMeaning[group])
		}
		name := c.Name
		if c.Group == groupDatabase {
			name += fmt.Sprintf(", database of %s checkpoints", thousands(c.Database))
		}
		fmt.Fprintf(w, "\n### %s\n\n| side | per second | x pgweft | p50 | p95 | p99 | server CPU us | WAL B | disk B | allocations | allocated B |\n"+
			"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n", name)
		for _, res := range c.Results {
			c.writeResult(w, res)
		}
	}
}

func (c *benchmarkCase) writeResult(w *bufio.Writer, res result) {
	if res.Problem != "" {
		fmt.Fprintf(w, "| %s | **not measured**: %s | | | | | | | | | |\n", res.Side, oneLine(res.Problem))
		return
	}
	ratio := "-"
	if ours, err := c.figure(throughput, pgweftName); err == nil {
		ratio = times(res.PerSecond / ours)
	}
	fmt.Fprintf(w, "| %s | %s (%s to %s) | %s | %.3f | %.3f | %.3f | %s | %.0f | %s | %s | %s |\n", res.Side, rate(res.PerSecond), rate(res.Slowest),
		rate(res.Fastest), ratio, res.P50, res.P95, res.P99, orDash(res.ServerCPU), res.WAL, orDash(res.Disk), orDash(res.Allocations),
		orDash(res.Allocated))
}

// times is a ratio with two digits at least, however small.
func times(ratio float64) string {
	if ratio < 0.1 {
		return fmt.Sprintf("%.2g", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}

func rate(perSecond float64) string {
	if perSecond < 100 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// thousands is a number with a comma before each three of its digits.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func orDash(figure *float64) string {
	if figure == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", *figure)
}

// lowerIsBetter is the axis of what a client waits.
const lowerIsBetter = "milliseconds (p50): lower is better"

// charts show how cost grows; those without at least two points on a line are left out.
func (r *results) charts() []chart {
	byLength := func(file, title, name string, limit int) chart {
		return r.chart(chart{file: file, title: title, x: "checkpoints in the thread", y: lowerIsBetter}, r.lengths(name, limit),
			func(c *benchmarkCase) float64 { return float64(c.Operation.Checkpoints) }, clientTime)
	}
	all := []chart{
		byLength("get-by-length.svg", "Get the newest checkpoint, by length of the thread", get, 0),
		byLength("list-by-length.svg", "List the 10 newest checkpoints, by length of the thread", list, 10),
	}
	for _, name := range []string{put, get} {
		found := r.where(func(c *benchmarkCase) bool { return c.Group == groupDatabase && c.Operation.Name == name })
		all = append(all, r.chart(chart{
			file: name + "-by-database.svg", title: strings.ToUpper(name[:1]) + name[1:] + " of 4 x 200 B, by size of the database",
			x: "checkpoints in the database", y: lowerIsBetter,
		}, found, func(c *benchmarkCase) float64 { return float64(c.Database) }, clientTime))
	}
	for _, what := range []struct{ file, title, name, payload string }{
		{"put-by-connections.svg", "Put of 4 x 200 B, by connections", put, small},
		{"put-20k-by-connections.svg", "Put of 20 KB, by connections", put, twentyKB},
		{"get-20k-by-connections.svg", "Get of 20 KB, by connections", get, twentyKB},
	} {
		found := r.where(func(c *benchmarkCase) bool {
			return (c.Group == groupPut || c.Group == groupGet) && c.Operation.Name == what.name && c.Operation.Payload == what.payload
		})
		all = append(all, r.chart(chart{file: what.file, title: what.title, x: "connections", y: "operations per second: higher is better"}, found,
			func(c *benchmarkCase) float64 { return float64(c.Operation.Connections) }, throughput))
	}
	return slices.DeleteFunc(all, func(c chart) bool { return len(c.lines) == 0 })
}

// chart adds a line for each side with figures in at least two of the cases, the highest first. A side has one colour in all
// charts.
func (r *results) chart(c chart, cases []*benchmarkCase, x func(c *benchmarkCase) float64, what string) chart {
	for i, a := range r.Sides {
		l := line{name: a.Side, colour: lineColours[i%len(lineColours)]}
		for _, measured := range cases {
			if y, err := measured.figure(what, a.Side); err == nil {
				l.points = append(l.points, point{x(measured), y})
			}
		}
		slices.SortFunc(l.points, func(a, b point) int { return int(a.x - b.x) })
		if len(l.points) > 1 {
			c.lines = append(c.lines, l)
		}
	}
	slices.SortStableFunc(c.lines, func(a, b line) int { return cmp.Compare(b.last(), a.last()) })
	return c
}
