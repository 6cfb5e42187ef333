package layered

import (
	"encoding/xml"
	"strings"
)

// Text makes text of s for a picture in SVG, for elements and attributes alike. Characters that XML does not know
// become U+FFFD.
func Text(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}
