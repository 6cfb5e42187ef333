package secrets

import (
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/redact"
)

// redacted matches the placeholder of a secret with a known value and its name.
var redacted = lazyre.New(`\[redacted ([A-Za-z_][A-Za-z0-9_.-]*)\]`)

// shapes removes strings that look like secrets: other rules, which know placeholders, cover those.
var shapes = sync.OnceValue(func() *redact.Redactor { return redact.New(nil) })

// known finds the value of a secret of this machine, from the environment, the settings or a copied file. The value
// needs no recognisable shape, and no comment can suppress the finding.
func known(s gates.Subject, path string, line gates.Line) (gates.Finding, bool) {
	if s.Redact == nil {
		return gates.Finding{}, false
	}
	text := shapes().String(line.Text)
	after := s.Redact(text)
	if after == text {
		return gates.Finding{}, false
	}
	name := "a secret"
	if m := redacted.FindStringSubmatch(after); m != nil {
		name = m[1]
	}
	return gates.Finding{
		Rule: "secrets/known", Severity: gates.Error, Path: path, Line: line.Number, Message: "the value of " + name +
			" would be committed",
		Fix: "read it from the environment instead",
	}, true
}
