package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// chart is lines on two logarithmic axes. It is drawn here because the libraries that could would come into the module of
// everyone who imports pgweft.
type chart struct {
	file, title, x, y string
	lines             []line
}

// line is a side's figures, by x.
type line struct {
	name, colour string
	points       []point
}

// last is where the line ends.
func (l line) last() float64 { return l.points[len(l.points)-1].y }

type point struct{ x, y float64 }

// The picture's size and margins, in pixels.
const (
	chartWidth, chartHeight = 760.0, 380.0
	left, right             = 70.0, 210.0
	top, bottom             = 40.0, 50.0
)

// lineColours tell up to eight sides apart, also for those who see few colours.
var lineColours = []string{"#0072b2", "#4d4d4d", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// axis maps values to pixels, by their logarithm.
type axis struct{ low, high, from, to float64 }

func newAxis(values []float64, from, to float64) axis {
	a := axis{low: math.Log10(slices.Min(values)), high: math.Log10(slices.Max(values)), from: from, to: to}
	if a.high-a.low < 0.5 {
		middle := (a.high + a.low) / 2
		a.low, a.high = middle-0.25, middle+0.25
	}
	space := (a.high - a.low) * 0.05
	a.low, a.high = a.low-space, a.high+space
	return a
}

func (a axis) at(value float64) float64 {
	return a.from + (math.Log10(value)-a.low)/(a.high-a.low)*(a.to-a.from)
}

// ticks are round numbers of every power of ten: the fewer the powers, the more of them.
func (a axis) ticks() []float64 {
	steps := []float64{1}
	switch powers := a.high - a.low; {
	case powers < 0.8:
		steps = []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8}
	case powers < 2.5:
		steps = []float64{1, 2, 5}
	}
	var ticks []float64
	for power := math.Floor(a.low); power <= a.high; power++ {
		for _, step := range steps {
			if value := step * math.Pow(10, power); math.Log10(value) >= a.low && math.Log10(value) <= a.high {
				ticks = append(ticks, value)
			}
		}
	}
	return ticks
}

// svg is the chart as a picture: the same text for the same figures.
func (c chart) svg() string {
	var xs, ys []float64
	for _, l := range c.lines {
		for _, p := range l.points {
			xs, ys = append(xs, p.x), append(ys, p.y)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" font-family="sans-serif" font-size="12">`+"\n",
		chartWidth, chartHeight, chartWidth, chartHeight)
	fmt.Fprintf(&b, `<title>%s</title><rect width="100%%" height="100%%" fill="#fff"/>`+"\n", html.EscapeString(c.title))
	text := func(x, y float64, anchor, more, words string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, more, html.EscapeString(words))
	}
	text(left, top-18, "start", ` font-size="15"`, c.title)
	if len(xs) > 0 {
		c.draw(&b, text, newAxis(xs, left, chartWidth-right), newAxis(ys, chartHeight-bottom, top))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c chart) draw(b *strings.Builder, text func(x, y float64, anchor, more, words string), x, y axis) {
	for _, tick := range y.ticks() {
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/>`+"\n", left, y.at(tick), chartWidth-right)
		text(left-6, y.at(tick)+4, "end", "", number(tick))
	}
	for _, tick := range c.measuredAt() {
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1f" stroke="#ddd"/>`+"\n", x.at(tick), top, chartHeight-bottom)
		text(x.at(tick), chartHeight-bottom+16, "middle", "", number(tick))
	}
	text((left+chartWidth-right)/2, chartHeight-12, "middle", "", c.x)
	text(16, (top+chartHeight-bottom)/2, "middle", fmt.Sprintf(` transform="rotate(-90 16 %.1f)"`, (top+chartHeight-bottom)/2), c.y)
	for i, l := range c.lines {
		var path strings.Builder
		for j, p := range l.points {
			letter := "L"
			if j == 0 {
				letter = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", letter, x.at(p.x), y.at(p.y))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x.at(p.x), y.at(p.y), l.colour)
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), l.colour)
		legend := top + 10 + 20*float64(i)
		fmt.Fprintf(b, `<path d="M%.1f %.1fh22" stroke="%s" stroke-width="3"/>`+"\n", chartWidth-right+14, legend-4, l.colour)
		text(chartWidth-right+42, legend, "start", "", l.name)
	}
}

// measuredAt is where the lines have points.
func (c chart) measuredAt() []float64 {
	var xs []float64
	for _, l := range c.lines {
		for _, p := range l.points {
			xs = append(xs, p.x)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

// number writes a figure as a person would.
func number(value float64) string {
	switch {
	case value >= 1e6:
		return fmt.Sprintf("%gM", value/1e6)
	case value >= 10_000:
		return fmt.Sprintf("%.3gk", value/1000)
	}
	return fmt.Sprintf("%g", math.Round(value*1e6)/1e6)
}
