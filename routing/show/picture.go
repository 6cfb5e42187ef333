package show

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/svg"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// picture holds the content of both kinds of drawings: a box per batch, including skipped ones, and the edges that
// do not follow from others.
type picture struct {
	svg.Graph
	reasons map[[2]int]string // by from and to of an edge
}

func newPicture(p *planparse.Plan, d routing.Decision) picture {
	index := lists.Index(d.Steps, func(s routing.Step) string { return s.Batch })
	items := make([]layered.Item, len(d.Steps))
	x := picture{reasons: map[[2]int]string{}}
	for i, s := range d.Steps {
		items[i].Key = s.Batch
		x.Boxes = append(x.Boxes, boxOf(p, s))
	}
	for _, e := range d.Edges {
		from, ok := index[e.From]
		to, there := index[e.To]
		if !ok || !there {
			continue
		}
		items[to].Needs = append(items[to].Needs, e.From)
		text := routing.OneLine(fmt.Sprintf("%s needs %s: %s", routing.BatchName(e.To), routing.BatchName(e.From), e.Reason))
		if e.Line > 0 {
			text += fmt.Sprintf(" (line %d)", e.Line)
		}
		if old := x.reasons[[2]int{from, to}]; old != "" {
			text = old + "\n" + text
		}
		x.reasons[[2]int{from, to}] = text
	}
	x.Graph.Graph = layered.Layout(items)
	x.Longest = lists.Map(d.CriticalPath(), func(key string) int { return index[key] })
	return x
}

func boxOf(p *planparse.Plan, s routing.Step) svg.Box {
	b := svg.Box{Number: routing.OneLine(routing.BatchName(s.Batch)), State: routing.OneLine(s.Label)}
	if of, ok := p.Batch(s.Batch); ok {
		b.Title = routing.OneLine(of.Title)
	}
	b.Tip = fmt.Sprintf("batch %s: %s\n", routing.OneLine(s.Batch), b.Title)
	if s.Skip != "" {
		b.Class, b.State = notRun, notRun
		b.Tip += notRun + ": " + routing.OneLine(s.Skip)
		return b
	}
	b.Class = string(s.Class)
	if s.Expected > 0 {
		b.State += " " + routing.Minutes(s.Expected)
	}
	b.Tip += routing.OneLine(fmt.Sprintf("%s, %d%% sure: %s", s.Class, s.Confidence, s.Why))
	return b
}

// DOT writes the graph of a decision for Graphviz.
func DOT(w io.Writer, p *planparse.Plan, d routing.Decision) error {
	x := newPicture(p, d)
	var b bytes.Buffer
	fmt.Fprintf(&b, "digraph %s {\n", dotText(p.Title))
	b.WriteString(
		"  rankdir=LR\n  node [shape=box style=\"rounded,filled\" fontname=\"Helvetica\" fontsize=11]\n  edge " +
			"[color=\"#7b8794\" fontname=\"Helvetica\" fontsize=9]\n")
	for i, box := range x.Boxes {
		label := box.Number + " " + cells.Cut(box.Title, 40, "…")
		fmt.Fprintf(&b, "  b%d [label=%s tooltip=%s %s]\n", i, dotText(label+"\n"+box.State), dotText(box.Tip),
			lookOf(box.Class).dot)
	}
	for to, n := range x.Nodes {
		for _, from := range n.Needs {
			look := ""
			if x.Critical(from, to) {
				look = ` penwidth=3 color="#1c2430"`
			}
			fmt.Fprintf(&b, "  b%d -> b%d [tooltip=%s%s]\n", from, to, dotText(x.reasons[[2]int{from, to}]), look)
		}
	}
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// dotText quotes a text, in which Graphviz would read backslashes and entities.
func dotText(s string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")
	return `"` + phrase.Join(strings.Split(s, "\n"), `\n`,
		func(line string) string { return quote.Replace(routing.OneLine(line)) }) + `"`
}

// look has the class of package svg for the boxes of a class of batches, and the same colours for Graphviz.
type look struct{ name, class, dot string }

const notRun = "not run" // the class of skipped batches

func looks() []look {
	return []look{
		{string(routing.Implementation), "busy", `fillcolor="#eff5fe" color="#2563c9"`},
		{string(routing.Verification), "good", `fillcolor="#f0f8f3" color="#1a7f4b"`},
		{string(routing.Architecture), "other", `fillcolor="#f8f1fd" color="#8b3fc0"`},
		{string(routing.Wiring), "warn", `fillcolor="#fdf6ea" color="#a15c00"`},
		{notRun, "muted", `fillcolor="#ffffff" style="rounded,dashed" fontcolor="#68727f"`},
	}
}

func lookOf(name string) look {
	return lists.First(looks(), func(l look) bool { return l.name == name })
}

// SVG draws the graph of a decision. It shows the reason of an edge as a tooltip.
func SVG(w io.Writer, p *planparse.Plan, d routing.Decision) error {
	x := newPicture(p, d)
	x.Label = "batches of " + routing.OneLine(p.Title)
	x.Caption = fmt.Sprintf("%s mode, %s, score %d/100", d.Mode, phrase.Count(d.Workers, "worker"), d.Score.Value)
	if d.Estimate.Wall != nil {
		x.Caption += ", about " + routing.Minutes(*d.Estimate.Wall)
	}
	for _, l := range looks() {
		if slices.ContainsFunc(x.Boxes, func(b svg.Box) bool { return b.Class == l.name }) {
			x.Legend = append(x.Legend, svg.Entry{Class: l.class, Text: l.name})
		}
	}
	for i := range x.Boxes {
		x.Boxes[i].Class = lookOf(x.Boxes[i].Class).class
	}
	x.Arrow = func(from, to int) (bool, string) { return false, x.reasons[[2]int{from, to}] }
	_, err := io.WriteString(w, x.String())
	return err
}
