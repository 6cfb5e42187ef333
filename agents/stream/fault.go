package stream

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/tables"
)

// FaultKind is the kind of error that ended an agent's work.
type FaultKind string

// The kinds of faults.
const (
	Auth         FaultKind = "auth"          // not signed in, or an invalid key
	Limit        FaultKind = "limit"         // a rate limit or an exhausted window, which resets
	Quota        FaultKind = "quota"         // no credit or subscription: waiting does not help
	Overloaded   FaultKind = "overloaded"    // the provider has no capacity
	MissingModel FaultKind = "missing_model" // the model does not exist, or not for this account
	Network      FaultKind = "network"
	Server       FaultKind = "server"  // the provider failed
	Refused      FaultKind = "refused" // the model refuses
	Turns        FaultKind = "turns"   // the CLI's own limit of turns
	Budget       FaultKind = "budget"  // the CLI's own limit of money
	Context      FaultKind = "context" // too long for the model's window
	Usage        FaultKind = "usage"   // wrong arguments or settings
	Empty        FaultKind = "empty"   // the model's answer has no text and no tool call
	Loop         FaultKind = "loop"    // the CLI stopped a model that repeated itself
	Other        FaultKind = "other"
)

// Fault is an error reported by a CLI.
type Fault struct {
	Kind    FaultKind `json:"kind"`
	Message string    `json:"message,omitempty"` // one line
	Status  int       `json:"status,omitempty"`  // HTTP status, if known
	RetryAt time.Time `json:"retry_at,omitzero"`
}

// faultOf classifies an error. Fields count before its text. It is called only for text that a CLI reports as an error.
func (p *Parser) faultOf(status int, code, message string) *Fault {
	f := &Fault{Status: status, Message: phrase.CutBytes(phrase.Line(unwrap(message)), 500), Kind: Other}
	f.Message = cmp.Or(f.Message, phrase.Line(code))
	f.Status = cmp.Or(f.Status, statusIn(message))
	f.Kind = kindOf(f.Status, code, message)
	// The HTTP library of Node reports a lost connection as "terminated".
	if f.Kind == Other && strings.TrimSuffix(strings.TrimPrefix(message, "[API Error: "), "]") == "terminated" {
		f.Kind, f.Message = Network, "the connection was cut (terminated)"
	}
	f.readTime(message, p.now())
	return f
}

// unwrap returns the text of an error that a CLI prints as the provider's JSON, and any other message as it is.
func unwrap(message string) string {
	i, j := strings.IndexByte(message, '{'), strings.LastIndexByte(message, '}')
	var body struct{ Error struct{ Message string } }
	if i < 0 || j < i || json.Unmarshal([]byte(message[i:j+1]), &body) != nil || body.Error.Message == "" {
		return message
	}
	return message[:i] + body.Error.Message + message[j+1:]
}

// readTime finds the time to try again. A quota with a reset time is a limit.
func (f *Fault) readTime(message string, now time.Time) {
	if f.Kind != Limit && f.Kind != Overloaded && f.Kind != Quota {
		return
	}
	if at, ok := RetryTime(message, now); ok {
		f.RetryAt = at
		if f.Kind == Quota {
			f.Kind = Limit
		}
	}
}

//go:embed faults.toml
var faultData string

// faults holds the error codes of CLIs by kind, and typical texts of their messages.
var faults = sync.OnceValue(func() (f struct {
	Codes map[FaultKind][]string
	Text  []struct {
		Kind FaultKind
		Has  []string
	}
}) {
	tables.Read(faultData, &f)
	return f
})

// kindOfCode returns the kind of an error code, "" if it is unknown.
func kindOfCode(code string) FaultKind {
	code = strings.ToLower(code)
	for kind, codes := range faults().Codes {
		if slices.Contains(codes, code) {
			return kind
		}
	}
	return ""
}

func kindOf(status int, code, message string) FaultKind {
	text := Fold(message)
	kind := kindOfCode(code)
	if kind != "" && kind != Server {
		return kind
	}
	switch status {
	case 401:
		return Auth
	case 402:
		return Quota
	case 429:
		if kindOfText(text) == Quota {
			return Quota
		}
		return Limit
	case 503, 529:
		return Overloaded
	}
	if k := kindOfText(text); k != Other {
		return k
	}
	switch {
	case status == 404 && strings.Contains(text, "model"):
		return MissingModel
	case kind != "":
		return kind
	case status == 403:
		return Auth
	case status >= 500:
		return Server
	}
	return Other
}

func kindOfText(text string) FaultKind {
	for _, t := range faults().Text {
		if slices.ContainsFunc(t.Has, func(part string) bool { return strings.Contains(text, part) }) {
			return t.Kind
		}
	}
	return Other
}

// FaultInText classifies a failed program's lines on standard error, as the last resort if no field gives the reason.
// It returns nil if no line is known.
func FaultInText(lines []string, now time.Time) *Fault {
	for i := len(lines) - 1; i >= 0; i-- {
		if kind := kindOf(statusIn(lines[i]), "", lines[i]); kind != Other {
			f := &Fault{Kind: kind, Message: phrase.CutBytes(phrase.Line(lines[i]), 500), Status: statusIn(lines[i])}
			f.readTime(lines[i], now)
			return f
		}
	}
	return nil
}

var statusRE = lazyre.New(`(?i)(?:\bstatus(?:code)?["']?[ :=]+|\bcode["']?[ :=]+|\bapi error: (?:request rejected \()?|\bhttp(?:/\d\.\d)? |^|\()(4\d\d|5\d\d)\b`)

// statusIn returns the HTTP status in a message, 0 if there is none.
func statusIn(message string) int {
	if m := statusRE.FindStringSubmatch(message); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// Fold normalizes case, apostrophes, dashes and spaces of a text.
func Fold(s string) string {
	s = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "`", "'", "–", "-", "—", "-", "‑", "-", "\u00a0", " ", "\u202f",
		" ").Replace(s)
	return phrase.Line(strings.ToLower(s))
}
