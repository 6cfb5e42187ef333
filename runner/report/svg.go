package report

import (
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/layered"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner"
)

// LayoutOf computes the place of each batch in a picture of the plan.
func LayoutOf(batches []runner.BatchSummary) *layered.Graph {
	items := make([]layered.Item, len(batches))
	for i, b := range batches {
		items[i] = layered.Item{Key: b.Key, Needs: b.Needs}
	}
	return layered.Layout(items)
}

// SVG draws the batches of a run and their dependencies. The image is self-contained, as a file or inside an HTML page,
// and follows the viewer's light or dark mode.
func SVG(s runner.Summary) string {
	g := LayoutOf(s.Batches)
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" class="g" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s">`+"\n",
		layered.Num(g.Width), layered.Num(g.Height), layered.Num(g.Width), layered.Num(g.Height),
		layered.Text("batches of "+titleOf(s)))
	b.WriteString("<style>\n" + graphStyle + "</style>\n")
	b.WriteString(`<defs><marker id="g-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="g-tip" d="M0.5 0.5 7.5 4 0.5 7.5z"/></marker></defs>` + "\n")
	for i, n := range g.Nodes {
		for _, j := range n.Needs {
			class := "g-edge"
			if runner.Status(s.Batches[j].State) == runner.Passed {
				class += " g-done"
			}
			fmt.Fprintf(&b, `<path class="%s" d="%s" marker-end="url(#g-tip)"/>`+"\n", class, g.Path(j, i))
		}
	}
	for i, n := range g.Nodes {
		box(&b, s, s.Batches[i], n)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// box draws one batch. The inner svg element clips text in a wide font.
func box(b *strings.Builder, s runner.Summary, x runner.BatchSummary, n layered.Node) {
	f := faceOf(s, x)
	tip := fmt.Sprintf("batch %s: %s\n%s", ui.Sanitize(x.Number), ui.Sanitize(x.Title), f.word)
	if x.Reason != "" {
		tip += ": " + ui.Sanitize(x.Reason)
	}
	right := f.word
	if x.DurationMS > 0 {
		right += " " + ui.Duration(millis(x.DurationMS))
	}
	fmt.Fprintf(b, `<svg class="g-%s" x="%s" y="%s" width="%d" height="%d"><title>%s</title>`, f.tone, layered.Num(n.X),
		layered.Num(n.Y), layered.BoxWidth, layered.BoxHeight, layered.Text(tip))
	fmt.Fprintf(b, `<rect class="g-box" x="0.75" y="0.75" width="%g" height="%g" rx="8"/>`, layered.BoxWidth-1.5,
		layered.BoxHeight-1.5)
	fmt.Fprintf(b, `<rect class="g-bar" x="6" y="12" width="3" height="%d" rx="1.5"/>`, layered.BoxHeight-24)
	fmt.Fprintf(b, `<text class="g-num" x="17" y="22">%s</text>`, layered.Text(ui.Cut(ui.Sanitize(x.Number), 8, "…")))
	fmt.Fprintf(b, `<text class="g-state" x="%d" y="22" text-anchor="end">%s %s</text>`, layered.BoxWidth-12,
		layered.Text(right), ui.Style{}.Icon(f.tone))
	fmt.Fprintf(b, `<text class="g-title" x="17" y="41">%s</text>`, layered.Text(ui.Cut(ui.Sanitize(x.Title), 22, "…")))
	b.WriteString("</svg>\n")
}
