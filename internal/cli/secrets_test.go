package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPairsReadsSettings(t *testing.T) {
	got := pairs(
		"# a comment\nAPP_MODE=development\nexport DB_PASSWORD=\"sword fish\" # it\n  api_token: 'abc' \nKEY = a b # " +
			"c\r\n{\n  \"client_secret\": \"x=y\",\n}\nEMPTY=\nno setting here\nURL=https://a.example/?b=c\n")
	want := []string{"APP_MODE=development", "DB_PASSWORD=sword fish", "api_token=abc", "KEY=a b", "client_secret=x=y",
		"URL=https://a.example/?b=c"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
