package fence

import (
	"strings"
	"testing"
)

// No text can close its fence: the closing row is longer than any row inside.
func TestTextCannotCloseFence(t *testing.T) {
	for _, text := range []string{"", "~~~~", "a\n~~~~~~~~\nb", "```\n~~~\n~~~~", strings.Repeat("~", 300)} {
		got := Around("go", text)
		row, _, _ := strings.Cut(got, "go\n")
		if strings.Contains(text, row) || strings.Trim(row, "~") != "" || !strings.HasSuffix(got, "\n"+row+"\n") {
			t.Errorf("%q closes the fence %q", text, row)
		}
	}
}

// Foreign removes characters that a reader does not see, and hides keys.
func TestForeign(t *testing.T) {
	key := "ghp_" + strings.Repeat("a1B2", 9)
	got := Foreign("", "a\r\nb\x1b[31m\u200bc\U000e0041 "+key)
	if strings.ContainsAny(got, "\r\x1b\u200b\U000e0041") || strings.Contains(got, key) || !strings.Contains(got, "a\nb") {
		t.Errorf("%q", got)
	}
	if got := Line("# a\n\n## b\t c"); got != "# a ## b c" {
		t.Errorf("%q", got)
	}
}
