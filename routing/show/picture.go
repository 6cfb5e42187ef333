package show

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/cells"
	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/routing"
)

// picture holds the content of both kinds of drawings: a box per batch, including skipped ones, and the edges that
// do not follow from others.
type picture struct {
	*layered.Graph
	boxes   []pictureBox
	reasons map[[2]int]string // by from and to of an edge
	longest []int             // the critical path
}

type pictureBox struct {
	number, title string
	tier          string        // name in the settings, with the expected duration
	class         routing.Class // "" for a skipped batch
	tip           string
}

func newPicture(p *planparse.Plan, d routing.Decision) picture {
	index := map[string]int{}
	items := make([]layered.Item, len(d.Steps))
	x := picture{reasons: map[[2]int]string{}}
	for i, s := range d.Steps {
		index[s.Batch], items[i].Key = i, s.Batch
		x.boxes = append(x.boxes, boxOf(p, s))
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
	x.Graph = layered.Layout(items)
	for _, key := range d.CriticalPath() {
		x.longest = append(x.longest, index[key])
	}
	return x
}

func boxOf(p *planparse.Plan, s routing.Step) pictureBox {
	b := pictureBox{number: routing.OneLine(routing.BatchName(s.Batch)), tier: routing.OneLine(s.Label), class: s.Class}
	if of, ok := p.Batch(s.Batch); ok {
		b.title = routing.OneLine(of.Title)
	}
	b.tip = fmt.Sprintf("batch %s: %s\n", routing.OneLine(s.Batch), b.title)
	if s.Skip != "" {
		b.class, b.tier = "", "not run"
		b.tip += "not run: " + routing.OneLine(s.Skip)
		return b
	}
	if s.Expected > 0 {
		b.tier += " " + Minutes(s.Expected)
	}
	b.tip += routing.OneLine(fmt.Sprintf("%s, %d%% sure: %s", s.Class, s.Confidence, s.Why))
	return b
}

// critical reports whether an edge is part of the chain that bounds the time of the run.
func (x picture) critical(from, to int) bool {
	i := slices.Index(x.longest, from)
	return i >= 0 && i+1 < len(x.longest) && x.longest[i+1] == to
}

// edges calls f for each edge.
func (x picture) edges(f func(from, to int)) {
	for to, n := range x.Nodes {
		for _, from := range n.Needs {
			f(from, to)
		}
	}
}

// DOT writes the graph of a decision for Graphviz.
func DOT(w io.Writer, p *planparse.Plan, d routing.Decision) error {
	x := newPicture(p, d)
	var b bytes.Buffer
	fmt.Fprintf(&b, "digraph %s {\n", dotText(p.Title))
	b.WriteString(
		"  rankdir=LR\n  node [shape=box style=\"rounded,filled\" fontname=\"Helvetica\" fontsize=11]\n  edge " +
			"[color=\"#7b8794\" fontname=\"Helvetica\" fontsize=9]\n")
	for i, box := range x.boxes {
		look := `fillcolor="#ffffff" style="rounded,dashed" fontcolor="#68727f"`
		if box.class != "" {
			c := classColors()[box.class]
			look = fmt.Sprintf(`fillcolor="%s" color="%s"`, c.paper, c.ink)
		}
		label := box.number + " " + cut(box.title, 40)
		fmt.Fprintf(&b, "  b%d [label=%s tooltip=%s %s]\n", i, dotText(label+"\n"+box.tier), dotText(box.tip), look)
	}
	x.edges(func(from, to int) {
		look := ""
		if x.critical(from, to) {
			look = ` penwidth=3 color="#1c2430"`
		}
		fmt.Fprintf(&b, "  b%d -> b%d [tooltip=%s%s]\n", from, to, dotText(x.reasons[[2]int{from, to}]), look)
	})
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// dotText quotes a text, in which Graphviz would read backslashes and entities.
func dotText(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(routing.OneLine(lines[i]))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

type colors struct{ ink, paper, darkInk, darkPaper string }

func classColors() map[routing.Class]colors {
	return map[routing.Class]colors{
		routing.Implementation: {"#2563c9", "#eff5fe", "#79aaff", "#15213a"},
		routing.Verification:   {"#1a7f4b", "#f0f8f3", "#4cc38a", "#13241c"},
		routing.Architecture:   {"#8b3fc0", "#f8f1fd", "#c58bf0", "#271735"},
		routing.Wiring:         {"#a15c00", "#fdf6ea", "#e6a649", "#2a2113"},
	}
}

func classes() []routing.Class {
	return []routing.Class{routing.Implementation, routing.Verification, routing.Architecture, routing.Wiring}
}

// SVG draws the graph of a decision as a self-contained image. It follows the viewer's light or dark mode, and
// shows the reason of an edge as a tooltip.
func SVG(w io.Writer, p *planparse.Plan, d routing.Decision) error {
	x := newPicture(p, d)
	caption := fmt.Sprintf("%s mode, %s, score %d/100", d.Mode, phrase.Count(d.Workers, "worker"), d.Score.Value)
	if d.Estimate.Wall != nil {
		caption += ", about " + Minutes(*d.Estimate.Wall)
	}
	legend, room := x.legend()
	width, height := max(x.Width, room, 2*edgeSpace+7*float64(cells.Width(caption))), x.Height+legendHeight
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" class="r" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">`+"\n",
		layered.Num(width), layered.Num(height), layered.Num(width), layered.Num(height),
		layered.Text("batches of "+routing.OneLine(p.Title)))
	b.WriteString("<style>" + pictureStyle() + "</style>\n")
	for _, tip := range []string{"tip", "far"} {
		fmt.Fprintf(&b,
			`<defs><marker id="r-%s" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" orient="auto"><path class="r-%s" d="M0.5 0.5 7.5 4 0.5 7.5z"/></marker></defs>`+"\n", tip, tip)
	}
	fmt.Fprintf(&b, `<rect class="r-page" width="%s" height="%s"/>`+"\n", layered.Num(width), layered.Num(height))
	fmt.Fprintf(&b, `<text class="r-note" x="%d" y="24">%s</text>`+"\n", edgeSpace, layered.Text(caption))
	for _, long := range []bool{false, true} { // the critical path is on top
		class, tip := "r-edge", "tip"
		if long {
			class, tip = "r-edge r-long", "far"
		}
		x.edges(func(from, to int) {
			if x.critical(from, to) != long {
				return
			}
			path := x.Path(from, to)
			// A wide invisible line makes the thin one easy to point at.
			fmt.Fprintf(&b,
				`<g><title>%s</title><path class="r-wide" d="%s"/><path class="%s" d="%s" marker-end="url(#r-%s)"/></g>`+"\n",
				layered.Text(x.reasons[[2]int{from, to}]), path, class, path, tip)
		})
	}
	for i, n := range x.Nodes {
		x.boxes[i].draw(&b, n, slices.Contains(x.longest, i))
	}
	fmt.Fprintf(&b, `<g transform="translate(%d %s)">%s</g>`+"\n</svg>\n", edgeSpace, layered.Num(x.Height-8), legend)
	_, err := w.Write(b.Bytes())
	return err
}

const (
	edgeSpace    = 38 // around the picture, as the layout has it
	legendHeight = 30
)

// draw draws one batch. The inner svg element clips text in a wide font.
func (x pictureBox) draw(b *bytes.Buffer, n layered.Node, long bool) {
	class := "left"
	if x.class != "" {
		class = string(x.class)
	}
	if long {
		class += " r-on"
	}
	fmt.Fprintf(b, `<svg class="r-%s" x="%s" y="%s" width="%d" height="%d"><title>%s</title>`, class, layered.Num(n.X),
		layered.Num(n.Y), layered.BoxWidth, layered.BoxHeight, layered.Text(x.tip))
	fmt.Fprintf(b, `<rect class="r-box" x="1.25" y="1.25" width="%g" height="%g" rx="8"/>`, layered.BoxWidth-2.5,
		layered.BoxHeight-2.5)
	fmt.Fprintf(b, `<text class="r-num" x="14" y="22">%s</text>`, layered.Text(cut(x.number, 9)))
	fmt.Fprintf(b, `<text class="r-tier" x="%d" y="22" text-anchor="end">%s</text>`, layered.BoxWidth-12,
		layered.Text(cut(x.tier, 18)))
	fmt.Fprintf(b, `<text class="r-title" x="14" y="41">%s</text></svg>`+"\n", layered.Text(cut(x.title, 21)))
}

// legend names the colours that are in the picture. It returns its width.
func (x picture) legend() (string, float64) {
	var b strings.Builder
	at := 0.0
	entry := func(mark, text string) {
		fmt.Fprintf(&b, `<g transform="translate(%s 0)">%s<text class="r-note" x="20" y="11">%s</text></g>`, layered.Num(at),
			mark, text)
		at += 44 + 6.5*float64(len(text))
	}
	has := func(c routing.Class) bool {
		return slices.ContainsFunc(x.boxes, func(b pictureBox) bool { return b.class == c })
	}
	for _, c := range append(classes(), "") {
		if !has(c) {
			continue
		}
		class, text := string(c), string(c)
		if c == "" {
			class, text = "left", "not run"
		}
		entry(fmt.Sprintf(`<g class="r-%s"><rect class="r-box" x="1" y="1" width="12" height="12" rx="3"/></g>`, class), text)
	}
	if len(x.longest) > 1 {
		entry(`<path class="r-edge r-long" d="M0 7H14"/>`, "critical path")
	}
	return b.String(), at + 2*edgeSpace
}

// pictureStyle contains literal colours for light and dark themes, because not every SVG viewer supports variables.
func pictureStyle() string {
	var b strings.Builder
	b.WriteString(`
.r{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;max-width:100%;height:auto}
.r-edge,.r-wide,.r-box{fill:none;stroke-width:1.5}
.r-long{stroke-width:3.5}
.r-wide{stroke:transparent;stroke-width:12;pointer-events:stroke}
.r-on .r-box{stroke-width:2.5}
.r-num,.r-tier,.r-note{font-size:11.5px}
.r-num{font-weight:600}
.r-title{font-size:13px;font-weight:500}
.r-left .r-box{stroke-dasharray:4 3}
`)
	shades(&b, "#fff", "#1c2430", "#68727f", "#9aa4b1", func(c colors) (string, string) { return c.ink, c.paper })
	b.WriteString("@media (prefers-color-scheme:dark){\n")
	shades(&b, "#10141a", "#e4e8ee", "#8d98a7", "#5b6675",
		func(c colors) (string, string) { return c.darkInk, c.darkPaper })
	b.WriteString("}\n")
	return b.String()
}

func shades(b *strings.Builder, page, ink, faint, line string, of func(colors) (ink, paper string)) {
	fmt.Fprintf(b,
		".r-page{fill:%s}.r-title,.r-far{fill:%s}.r-num,.r-tier,.r-note,.r-left .r-title{fill:%s}.r-tip{fill:%s}\n", page,
		ink, faint, line)
	fmt.Fprintf(b, ".r-edge,.r-box{stroke:%s}.r-long{stroke:%s}\n", line, ink)
	for _, c := range classes() {
		ink, paper := of(classColors()[c])
		fmt.Fprintf(b, ".r-%s .r-box{fill:%s;stroke:%s}.r-%s .r-tier{fill:%s}\n", c, paper, ink, c, ink)
	}
}
