package main

import (
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawing puts the rows of a query on a chart.
type drawing func(chart *plot.Plot, rows []map[string]any) error

var drawings = map[string]drawing{
	"nodes.svg": func(chart *plot.Plot, rows []map[string]any) error {
		chart.Title.Text, chart.Y.Label.Text = "How long a task takes", "seconds"
		return bars(chart, rows, "node", []series{{"average", "avg_s"}, {"longest", "max_s"}}, false)
	},
	"tokens.svg": func(chart *plot.Plot, rows []map[string]any) error {
		chart.Title.Text, chart.Y.Label.Text = "Tokens by week and model", "thousand tokens"
		return bars(chart, rows, "week", []series{{"gpt-5-mini", "gpt_5_mini"}, {"claude-sonnet-5", "claude_sonnet_5"}}, true)
	},
	"storage.svg": func(chart *plot.Plot, rows []map[string]any) error {
		chart.Title.Text, chart.Y.Label.Text = "Where the bytes are", "kB"
		err := bars(chart, rows, "channel", []series{{"versions of the value", "blobs_kb"}, {"writes", "writes_kb"}}, false)
		// The tallest bars are on the left.
		chart.Legend.Left, chart.Legend.XOffs = false, -chart.Legend.XOffs
		return err
	},
	"savings.svg": func(chart *plot.Plot, rows []map[string]any) error {
		chart.Title.Text, chart.X.Label.Text, chart.Y.Label.Text = "One conversation, checkpoint by checkpoint", "checkpoint", "kB"
		return lines(chart, rows, "n", []series{{"every state in full", "full_kb"}, {"stored: each version once", "stored_kb"}, {"writes", "writes_kb"}})
	},
	"growth.svg": func(chart *plot.Plot, rows []map[string]any) error {
		chart.Title.Text, chart.Y.Label.Text = "Growth of all threads", "MB on disk"
		chart.X.Tick.Marker = plot.TimeTicks{Format: "2 Jan", Time: plot.UTCUnixTime}
		return lines(chart, rows, "day", []series{{"", "total_mb"}})
	},
}

// series is a column under a name; one without a name has no legend.
type series struct{ name, column string }

var palette = []color.RGBA{{R: 0x2b, G: 0x6c, B: 0xb0, A: 0xff}, {R: 0xdd, G: 0x6b, B: 0x20, A: 0xff}, {R: 0x71, G: 0x80, B: 0x96, A: 0xff}}

func number(row map[string]any, column string) (float64, error) {
	switch v := row[column].(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case int32:
		return float64(v), nil
	case time.Time:
		return float64(v.Unix()), nil
	}
	return 0, fmt.Errorf("column %s is no number but %T; cast it", column, row[column])
}

func bars(chart *plot.Plot, rows []map[string]any, label string, of []series, stacked bool) error {
	width := 14 * vg.Millimeter
	var below *plotter.BarChart
	for i, s := range of {
		values := make(plotter.Values, len(rows))
		for n, row := range rows {
			var err error
			if values[n], err = number(row, s.column); err != nil {
				return err
			}
		}
		drawn, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		drawn.Color, drawn.LineStyle.Width = palette[i], 0
		switch {
		case !stacked:
			drawn.Offset = width * (vg.Length(i) - vg.Length(len(of)-1)/2)
		case below != nil:
			drawn.StackOn(below)
		}
		below = drawn
		chart.Add(drawn)
		if s.name != "" {
			chart.Legend.Add(s.name, drawn)
		}
	}
	labels := make([]string, len(rows))
	for n, row := range rows {
		labels[n] = fmt.Sprint(row[label])
	}
	chart.NominalX(labels...)
	finish(chart)
	chart.X.Min, chart.X.Max = -0.5, float64(len(rows))-0.5
	return nil
}

func lines(chart *plot.Plot, rows []map[string]any, x string, of []series) error {
	for i, s := range of {
		points := make(plotter.XYs, len(rows))
		for n, row := range rows {
			var err error
			if points[n].X, err = number(row, x); err != nil {
				return err
			}
			if points[n].Y, err = number(row, s.column); err != nil {
				return err
			}
		}
		slices.SortFunc(points, func(a, b plotter.XY) int { return int(a.X - b.X) })
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		drawn.Color, drawn.Width = palette[i], vg.Points(2)
		chart.Add(drawn)
		if s.name != "" {
			chart.Legend.Add(s.name, drawn)
		}
	}
	finish(chart)
	if chart.X.Tick.Marker == (plot.DefaultTicks{}) {
		chart.X.Tick.Marker = shortTicks{step: 2}
	}
	chart.X.Max += (chart.X.Max - chart.X.Min) / 40
	return nil
}

// shortTicks are Plot's own where step is 0, or every step-th whole number; labels are as short as numbers can be written.
type shortTicks struct{ step int }

// Ticks implements [plot.Ticker].
func (s shortTicks) Ticks(least, most float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(least, most)
	if s.step > 0 {
		ticks = nil
		for n := s.step; float64(n) <= most; n += s.step {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: "n"})
		}
	}
	for i, tick := range ticks {
		if tick.Label != "" {
			ticks[i].Label = strconv.FormatFloat(tick.Value, 'f', -1, 64)
		}
	}
	return ticks
}

// finish is what all charts have in common.
func finish(chart *plot.Plot) {
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = color.RGBA{R: 0xe2, G: 0xe8, B: 0xf0, A: 0xff}
	chart.Add(grid)
	chart.BackgroundColor = color.White
	chart.Title.TextStyle.Font.Size = vg.Points(14)
	chart.Title.Padding = vg.Points(8)
	chart.Y.Min = 0
	chart.Y.Tick.Marker = shortTicks{}
	// Room above, for the legend.
	chart.Y.Max *= 1.15
	chart.Legend.Top, chart.Legend.Left = true, true
	chart.Legend.Padding = vg.Points(3)
	chart.Legend.XOffs = vg.Points(8)
}

// withMargin paints the canvas white and leaves its edge free.
func withMargin(canvas vg.CanvasSizer) draw.Canvas {
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Path())
	margin := vg.Points(10)
	return draw.Crop(whole, margin, -margin, margin, -margin)
}
