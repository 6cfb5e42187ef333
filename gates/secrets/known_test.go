package secrets

import (
	"strings"
	"testing"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/redact"
)

// The value of a secret of this machine is reported in any form. Values that only look like secrets are left to other
// rules.
func TestKnownValues(t *testing.T) {
	s := gates.Subject{Redact: redact.New([]string{"DEPLOY_TOKEN=plain words here", "GITHUB_TOKEN=no-usual-shape"}).String}
	for text, want := range map[string]string{
		"say plain words here": "DEPLOY_TOKEN",
		"x = 'no-usual-shape' // runplan:ignore secrets it is harmless": "GITHUB_TOKEN",
		"https://user:password@example.com/":                            "",
		"plain words":                                                   "",
		"[redacted DEPLOY_TOKEN]":                                       "",
		"ghp_" + strings.Repeat("a1B2", 10):                             "",
	} {
		f, ok := known(s, "a.txt", gates.Line{Number: 3, Text: text})
		if ok != (want != "") || ok &&
			(f.Message != "the value of "+want+" would be committed" || f.Line != 3 || f.Severity != gates.Error) {
			t.Errorf("%q: %v %+v", text, ok, f)
		}
	}
	if _, ok := known(gates.Subject{}, "a.txt", gates.Line{Text: "plain words here"}); ok {
		t.Error("nothing is known")
	}
}
