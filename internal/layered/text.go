package layered

import (
	"encoding/xml"
	"strings"
)

// Text escapes s for an SVG picture, for elements and attributes. Characters that XML does not allow become U+FFFD.
func Text(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}
