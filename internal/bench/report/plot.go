package report

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgsvg" // the format of the files

	"github.com/omg-dds-go/dds/internal/bench"
	"github.com/omg-dds-go/dds/internal/bench/experiment"
)

const (
	plotWidth  = 16 * vg.Centimeter
	plotHeight = 9 * vg.Centimeter

	legendPadding = vg.Millimeter
)

func throughputFile(transport string) string { return "throughput-" + transport + ".svg" }

// plots draws all plots, by file name.
func (p *Page) plots() (map[string][]byte, error) {
	files := map[string][]byte{}
	draw := func(name string, make func() (*plot.Plot, error)) error {
		pl, err := make()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w, err := pl.WriterTo(plotWidth, plotHeight, "svg")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files[name] = b.Bytes()
		return nil
	}
	for _, transport := range p.Plan.Transports {
		if err := draw(throughputFile(transport), func() (*plot.Plot, error) { return p.throughputPlot(transport) }); err != nil {
			return nil, err
		}
	}
	if err := draw("one-way.svg", func() (*plot.Plot, error) { return p.latencyPlot(OneWay) }); err != nil {
		return nil, err
	}
	if err := draw("round-trips.svg", func() (*plot.Plot, error) { return p.latencyPlot(RoundTrip) }); err != nil {
		return nil, err
	}
	return files, nil
}

// points is a line with bars from the least to the greatest run.
type points struct {
	plotter.XYs
	plotter.YErrors
}

func (p *points) add(x float64, s Spread) {
	p.XYs = append(p.XYs, plotter.XY{X: x, Y: s.Median})
	p.YErrors = append(p.YErrors, struct{ Low, High float64 }{s.Median - s.Least, s.Greatest - s.Median})
}

// drawLine adds the points to a plot, in the color of index i.
func drawLine(pl *plot.Plot, i int, name string, p *points) error {
	if p.Len() == 0 {
		return nil
	}
	line, dots, err := plotter.NewLinePoints(p.XYs)
	if err != nil {
		return err
	}
	bars, err := plotter.NewYErrorBars(p)
	if err != nil {
		return err
	}
	line.Color, dots.Color, bars.Color = plotutil.Color(i), plotutil.Color(i), plotutil.Color(i)
	dots.Shape = plotutil.Shape(i)
	pl.Add(line, dots, bars)
	pl.Legend.Add(name, line, dots)
	return nil
}

func (p *Page) throughputPlot(transport string) (*plot.Plot, error) {
	pl := plot.New()
	pl.Title.Text = "Throughput over " + transport
	pl.X.Label.Text = "size of a sample, bytes"
	pl.Y.Label.Text = "samples per second, each reader"
	var ticks plot.ConstantTicks
	for _, size := range p.Plan.Sizes {
		ticks = append(ticks, plot.Tick{Value: float64(size), Label: bench.FormatSize(size)})
	}
	pl.X.Tick.Marker = ticks
	pl.Legend.Top, pl.Legend.Padding = true, legendPadding // at the upper right: rates fall
	pl.Add(plotter.NewGrid())
	for i, readers := range p.Plan.Readers {
		var line points
		for _, c := range p.in(Throughput) {
			if c.Experiment.Transport == transport && c.Experiment.Readers == readers {
				if s := c.over(rate); s.Least > 0 { // or it has no logarithm
					line.add(float64(c.Experiment.Size), s)
				}
			}
		}
		if err := drawLine(pl, i, plural(readers, "reader"), &line); err != nil {
			return nil, err
		}
	}
	logarithmic(&pl.X)
	logarithmic(&pl.Y)
	pl.Y.Tick.Marker = plainTicks{}
	return pl, nil
}

// shares are the percentiles of a plot, evenly spaced: each is ten times rarer than the one before.
var shares = []struct {
	label string
	of    func(*bench.Latency) int64
}{
	{"50", func(l *bench.Latency) int64 { return l.P50 }},
	{"90", func(l *bench.Latency) int64 { return l.P90 }},
	{"99", func(l *bench.Latency) int64 { return l.P99 }},
	{"99.9", func(l *bench.Latency) int64 { return l.P999 }},
	{"99.99", func(l *bench.Latency) int64 { return l.P9999 }},
	{"max", func(l *bench.Latency) int64 { return l.Max }},
}

func (p *Page) latencyPlot(s Section) (*plot.Plot, error) {
	pl := plot.New()
	pl.Title.Text = string(s)
	pl.X.Label.Text = "percentile"
	pl.Y.Label.Text = "microseconds"
	var ticks plot.ConstantTicks
	for i, share := range shares {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: share.label})
	}
	pl.X.Tick.Marker = ticks
	pl.Legend.Padding = legendPadding // at the lower right: latencies rise
	pl.Add(plotter.NewGrid())
	for i, c := range p.in(s) {
		var line points
		for x, share := range shares {
			spread := c.over(func(s *experiment.Summary) float64 { return float64(share.of(&s.Latency)) / 1e3 })
			if spread.Least > 0 { // or it has no logarithm
				line.add(float64(x), spread)
			}
		}
		if err := drawLine(pl, i, c.name(), &line); err != nil {
			return nil, err
		}
	}
	logarithmic(&pl.Y)
	pl.Y.Tick.Marker = plainTicks{}
	return pl, nil
}

// logarithmic makes the scale of an axis so, with room for what is drawn. The library panics if there is nothing above
// zero on it, so an axis without data stays as it is.
func logarithmic(a *plot.Axis) {
	if !(a.Min > 0) || math.IsInf(a.Min, 0) {
		return
	}
	a.Min, a.Max = a.Min/1.5, a.Max*1.5
	a.Scale = plot.LogScale{}
}

// plainTicks labels the powers of ten, and 2 and 5 times them, with plain numbers.
type plainTicks struct{}

func (plainTicks) Ticks(least, greatest float64) (ticks []plot.Tick) {
	if !(least > 0) {
		return plot.DefaultTicks{}.Ticks(least, greatest)
	}
	for p := math.Pow(10, math.Floor(math.Log10(least))); p <= greatest; p *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := m * p; v >= least && v <= greatest {
				ticks = append(ticks, plot.Tick{Value: v, Label: short(v)})
			}
		}
	}
	return ticks
}

// short writes 200000 as 200k.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
