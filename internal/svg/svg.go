// Package svg draws pictures as SVG, the image format of browsers, which is XML text. All pictures of runplan are made
// here: one that shows boxes and arrows is a [Graph], any other is drawn piece by piece with [Picture.Draw]. Package
// layered decides where boxes and arrows are; this package knows how they look.
package svg

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Picture is an image that grows with each call of Draw.
type Picture struct{ b strings.Builder }

// New begins a picture. width and height are in pixels. A screen reader reads label. style is the CSS of the picture; if it
// is "", the page around it has the CSS. CSS applies to the whole page, so all names of the picture begin with class: with
// the class "g", a line ends in an arrowhead by marker-end="url(#g-tip)".
func New(class, label, style string, width, height float64) *Picture {
	p := &Picture{}
	p.Draw(`<svg xmlns="http://www.w3.org/2000/svg" class="%v" viewBox="0 0 %v %v" width="%[2]v" height="%[3]v" `+
		`role="img" aria-label="%[4]v">`+"\n", class, width, height, label)
	if style != "" {
		p.b.WriteString("<style>\n" + style + "</style>\n")
	}
	p.Draw(`<defs><marker id="%v-tip" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" `+
		`markerWidth="10" markerHeight="10" orient="auto"><path class="%[1]v-tip" d="M0.5 0.5 7.5 4 0.5 7.5z"/>`+
		"</marker></defs>\n", class)
	return p
}

// Draw adds elements. markup is SVG with a %v for each value. A value cannot break out of its place: it is escaped for
// text and attributes, and characters that XML does not allow become U+FFFD.
func (p *Picture) Draw(markup string, values ...any) {
	for i, v := range values {
		var b strings.Builder
		if f, ok := v.(float64); ok {
			v = number(f)
		}
		_ = xml.EscapeText(&b, fmt.Append(nil, v)) // a Builder never fails
		values[i] = b.String()
	}
	fmt.Fprintf(&p.b, markup, values...)
}

// String ends the picture and returns it.
func (p *Picture) String() string { return p.b.String() + "</svg>\n" }

// number writes a coordinate, to a tenth.
func number(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }
