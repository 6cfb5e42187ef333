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
	b.WriteString("<style>" + graphStyle + "</style>\n")
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

// graphStyle is the CSS of the picture. Its classes have their own prefix, because CSS in a page applies to the whole
// page.
const graphStyle = `
.g{--g-paper:#fff;--g-ink:#1c2430;--g-faint:#68727f;--g-line:#d5dae1;--g-edge:#b3bbc6;--g-done:#6f9f86;
--g-good:#1a7f4b;--g-goodbg:#f0f8f3;--g-bad:#c22f3d;--g-badbg:#fdf1f1;--g-busy:#2563c9;--g-busybg:#eff5fe;--g-warn:#a15c00;--g-warnbg:#fdf6ea;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;max-width:100%;height:auto}
@media screen and (prefers-color-scheme:dark){.g{--g-paper:#171c24;--g-ink:#e4e8ee;--g-faint:#8d98a7;--g-line:#333c49;--g-edge:#4b5665;--g-done:#3f7a5b;
--g-good:#4cc38a;--g-goodbg:#13241c;--g-bad:#ff7b7f;--g-badbg:#2b181b;--g-busy:#79aaff;--g-busybg:#15213a;--g-warn:#e6a649;--g-warnbg:#2a2113}}
.g-edge{fill:none;stroke:var(--g-edge);stroke-width:1.5}
.g-tip{fill:var(--g-faint)}
.g-done{stroke:var(--g-done)}
.g-box{fill:var(--g-paper);stroke:var(--g-line);stroke-width:1.5}
.g-bar{fill:var(--g-line)}
.g-num{font-size:12px;font-weight:600;fill:var(--g-faint)}
.g-state{font-size:11.5px;fill:var(--g-faint)}
.g-title{font-size:13px;font-weight:500;fill:var(--g-ink)}
.g-good .g-box{fill:var(--g-goodbg);stroke:var(--g-good)}.g-good .g-bar{fill:var(--g-good)}.g-good .g-state{fill:var(--g-good)}
.g-bad .g-box{fill:var(--g-badbg);stroke:var(--g-bad)}.g-bad .g-bar{fill:var(--g-bad)}.g-bad .g-state{fill:var(--g-bad)}
.g-busy .g-box{fill:var(--g-busybg);stroke:var(--g-busy)}.g-busy .g-bar{fill:var(--g-busy)}.g-busy .g-state{fill:var(--g-busy)}
.g-warn .g-box{fill:var(--g-warnbg);stroke:var(--g-warn)}.g-warn .g-bar{fill:var(--g-warn)}.g-warn .g-state{fill:var(--g-warn)}
.g-muted .g-box{stroke-dasharray:4 3}.g-muted .g-title{fill:var(--g-faint)}
`
