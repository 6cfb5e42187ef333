package report

import ("testing";"os";"github.com/runplan/runplan/internal/ui";"time";"github.com/runplan/runplan/runner")

func TestLook(t *testing.T) {
	s, ev := example(t)
	h, err := HTML(s, ev)
	if err != nil { t.Fatal(err) }
	os.WriteFile("/tmp/r.html", []byte(h), 0o644)
	os.WriteFile("/tmp/r.md", []byte(Markdown(s, ev)), 0o644)
	var p Printer
	pl := ui.NewPlain(os.Stdout, ui.Style{})
	for _, e := range ev { for _, l := range p.Lines(e) { pl.Line(l.Tone, l.Text) } }
	Status(os.Stdout, []runner.Summary{s}, ui.Style{}, 0)
	g := ""
	for _, x := range []runner.Summary{chain(t, 3, 1, before), chain(t, 60, 22, before), chain(t, 60, 10, alone), chain(t, 40, 12, woven)} { g += "<p>"+x.Title+"</p>"+SVG(x) }
	os.WriteFile("/tmp/g.html", []byte("<meta charset=utf-8><body style='background:#f5f6f8;width:1240px'>"+g), 0o644)
	_ = time.Now
}
