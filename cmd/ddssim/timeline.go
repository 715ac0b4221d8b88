package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/derecho/cluster"
)

// Sizes of the picture, in pixels.
const (
	labelWidth = 190
	plotWidth  = 1600
	rowHeight  = 64
	topHeight  = 30
	lanes      = 4 // bars of a row: the view, and subgroups 1 to 3
	laneHeight = 11
	mostMarks  = 20000 // deliveries that are drawn
)

// picture draws a run: a row for each node, its epochs as bars, what happened to it as marks.
type picture struct {
	bytes.Buffer
	end   time.Duration
	rows  map[derecho.NodeID]int
	since map[derecho.NodeID]*[lanes]bar
}

// bar is an epoch under way at a node.
type bar struct {
	epoch uint32
	from  time.Duration
}

// timeline is the picture of a run as one HTML file.
func timeline(r *cluster.Result, replay string) []byte {
	p := &picture{rows: map[derecho.NodeID]int{}, since: map[derecho.NodeID]*[lanes]bar{}}
	for _, e := range r.Events {
		if e.Kind == cluster.Start {
			p.rows[e.Node] = len(p.rows)
			p.since[e.Node] = &[lanes]bar{}
		}
		// Behind the last message there are only heartbeats.
		if e.Kind != cluster.Final && e.Kind != cluster.Holds && e.Kind != cluster.Told {
			p.end = max(p.end, e.At)
		}
	}
	p.end++
	verdict := "no violation"
	if r.Err != nil {
		verdict = r.Err.Error()
	}
	fmt.Fprintf(p, `<!doctype html><meta charset="utf-8"><title>seed %d</title>
<style>body{font:13px sans-serif;margin:16px}pre{white-space:pre-wrap}text{font:11px monospace}.d{stroke:#0008;stroke-width:1}.x{stroke:#c00;stroke-width:3}</style>
<h1>Seed %d</h1><pre>%s
%s
%s</pre>
<p>A row for each node. Bars, from above: the view, subgroups 1, 2 and 3; the colour is the epoch. Thin lines: deliveries. Red: crashes, exclusions,
faults. Point at something to read it.</p>
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">
`, r.Plan.Seed, r.Plan.Seed, html.EscapeString(r.Plan.String()), html.EscapeString(verdict), html.EscapeString(replay),
		labelWidth+plotWidth+20, topHeight+len(p.rows)*rowHeight+20)
	p.axis()
	marks := 0
	for _, e := range r.Events {
		if e.Kind == cluster.Deliver {
			marks++
		}
		p.event(e, marks <= mostMarks)
	}
	for id := range p.rows {
		p.finish(id, p.end)
	}
	p.WriteString("</svg>\n")
	return p.Bytes()
}

func (p *picture) x(t time.Duration) float64 {
	return labelWidth + plotWidth*float64(min(t, p.end))/float64(p.end)
}

func (p *picture) y(id derecho.NodeID, lane int) int {
	return topHeight + p.rows[id]*rowHeight + lane*(laneHeight+2)
}

func (p *picture) axis() {
	for i := range 11 {
		t := p.end * time.Duration(i) / 10
		fmt.Fprintf(p, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"12\">%v</text>\n",
			p.x(t), p.x(t), topHeight-8, topHeight+len(p.rows)*rowHeight, p.x(t), t.Round(time.Microsecond))
	}
}

func (p *picture) event(e cluster.Event, draw bool) {
	if e.Node == 0 {
		if e.Kind == cluster.Fault_ {
			fmt.Fprintf(p, "<line class=\"x\" x1=\"%.1f\" x2=\"%.1f\" y1=\"16\" y2=\"26\"><title>%s</title></line>\n", p.x(e.At),
				p.x(e.At), html.EscapeString(e.String()))
		}
		return
	}
	switch e.Kind {
	case cluster.Start:
		fmt.Fprintf(p, "<text x=\"0\" y=\"%d\">%s host %d</text><text x=\"0\" y=\"%d\">%s</text>\n", p.y(e.Node, 0)+10,
			html.EscapeString(e.Text), e.Host, p.y(e.Node, 1)+10, e.Node)
		p.mark(e, "#080")
	case cluster.Crashed, cluster.Excluded, cluster.GaveWay, cluster.Left:
		p.finish(e.Node, e.At)
		p.mark(e, "#c00")
	case cluster.Fault_, cluster.Isolated:
		p.mark(e, "#c00")
	case cluster.Leave:
		p.mark(e, "#00c")
	case cluster.Deliver:
		if draw && int(e.SG) < lanes {
			y := p.y(e.Node, int(e.SG))
			fmt.Fprintf(p, "<line class=\"d\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"><title>%s</title></line>\n", p.x(e.At),
				p.x(e.At), y, y+laneHeight, html.EscapeString(e.String()))
		}
	case cluster.Decision:
		if w := e.What; w.Kind == derecho.Installed && int(w.Subgroup) < lanes {
			p.bar(e.Node, int(w.Subgroup), e.At)
			p.since[e.Node][w.Subgroup] = bar{w.Epoch, e.At}
		} else if w.Kind == derecho.Wedged || w.Kind == derecho.Decided || w.Kind == derecho.Trimmed {
			p.mark(e, "#e80")
		}
	}
}

// bar ends the bar of a lane.
func (p *picture) bar(id derecho.NodeID, lane int, until time.Duration) {
	b := &p.since[id][lane]
	if b.epoch != 0 {
		fmt.Fprintf(p, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"hsl(%d,60%%,75%%)\"><title>%s subgroup %d epoch %d, from %v to %v</title></rect>\n",
			p.x(b.from), p.y(id, lane), max(p.x(until)-p.x(b.from), 1), laneHeight, b.epoch*67%360, id, lane, b.epoch, b.from, until)
	}
	*b = bar{}
}

func (p *picture) finish(id derecho.NodeID, at time.Duration) {
	for lane := range lanes {
		p.bar(id, lane, at)
	}
}

// mark is a dot under the bars of a node.
func (p *picture) mark(e cluster.Event, colour string) {
	fmt.Fprintf(p, "<circle cx=\"%.1f\" cy=\"%d\" r=\"4\" fill=\"%s\"><title>%s</title></circle>\n",
		p.x(e.At), p.y(e.Node, lanes)+3, colour, html.EscapeString(strings.TrimSpace(e.String())))
}
