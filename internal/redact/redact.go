// Package redact keeps secrets and terminal control codes out of stored and shown text, and secrets out of the
// environment of agents.
//
// A [Redactor] knows the values of secret-looking environment variables and the forms of common tokens. It finds them
// in escapes of JSON, URLs and HTML, with invisible characters inside, and in base64. It is not a guarantee: it misses
// a secret that is encrypted, reversed, or printed one character per line. So agents do not get secrets that they do
// not need, see [AgentEnv].
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/literal"
)

// minValue is the minimum length of a secret value; shorter ones occur in any text.
const minValue = 8

// Redactor replaces secrets. It is safe for concurrent use. A nil one changes nothing.
type Redactor struct {
	known   *literal.Set      // the values
	ordered []string          // the values, long ones first: one may begin with another
	names   map[string]string // by value
}

// New collects the values of secret-looking variables in env, KEY=VALUE.
func New(env []string) *Redactor {
	names := map[string]string{} // by value
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !SecretName(name) || harmless(name, value) {
			continue
		}
		for _, v := range spellings(value) {
			if _, ok := names[v]; !ok && len(v) >= minValue {
				names[v] = name
			}
		}
	}
	ordered := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	return &Redactor{known: literal.NewSet(literal.Exactly(ordered...)), ordered: ordered, names: names}
}

func mark(name string) string { return "[redacted " + name + "]" }

// String returns s with each known secret replaced by [redacted NAME].
func (r *Redactor) String(s string) string {
	if r == nil || s == "" || r.quiet(s, 0) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for rest := s; rest != ""; {
		n := segment(rest, true)
		if r.quiet(rest[:n], 0) {
			b.WriteString(rest[:n])
		} else {
			r.replace(&b, rest[:n])
		}
		rest = rest[n:]
	}
	return b.String()
}

// replace writes a segment with its secrets replaced.
func (r *Redactor) replace(b *strings.Builder, s string) {
	var spans []span
	r.search(s, 0, func(m Match, name string) bool {
		x := span{from: m.From, to: m.To, mark: mark(name)}
		if m.Kind != nil {
			x.mark, x.guess = m.Kind.mark(), 1
		}
		spans = append(spans, x)
		return true
	})
	slices.SortStableFunc(spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.guess, y.guess), cmp.Compare(y.to, x.to))
	})
	at, until := 0, 0
	for _, x := range spans {
		if x.from >= until {
			b.WriteString(s[at:x.from])
			b.WriteString(x.mark)
		}
		until = max(until, x.to)
		at = until
	}
	b.WriteString(s[at:])
}

// Hints returns literals of which every text with a secret-looking part contains one, unless the part is escaped or
// encoded.
func Hints() []literal.Lit {
	return slices.Concat(lists.Map(kinds(), func(k Kind) []literal.Lit { return k.needs() })...)
}

// spellings lists the forms of a value: plain, its single lines, in JSON, in a URL, in base64.
func spellings(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < minValue {
		return nil
	}
	out := []string{value}
	if strings.ContainsRune(value, '\n') {
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			if len(line) >= 2*minValue && !strings.HasPrefix(line, "-----") {
				out = append(out, line)
			}
		}
	}
	if b, err := json.Marshal(value); err == nil {
		out = append(out, string(b[1:len(b)-1]))
	}
	out = append(out, url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value)),
		strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(value)), "="))
	return out
}

// SecretName reports whether a variable with this name probably contains a secret.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if slices.Contains(words, "PRIVATE") || slices.ContainsFunc([]string{
		"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL",
	}, func(part string) bool { return strings.Contains(name, part) }) {
		return true
	}
	return len(words) > 1 && name != "OLD_PWD" &&
		slices.Contains([]string{"KEY", "PASS", "PAT", "AUTH", "PWD", "COOKIE"}, words[len(words)-1])
}

// harmless reports whether a value is the path of a secret, a switch or a number, and not a secret.
func harmless(name, value string) bool {
	name = strings.ToUpper(name)
	if slices.ContainsFunc([]string{"_FILE", "_PATH", "_DIR", "_SOCK", "_HOME"},
		func(end string) bool { return strings.HasSuffix(name, end) }) {
		return true
	}
	if strings.Contains(name, "CREDENTIAL") && strings.HasPrefix(value, "/") && strings.Count(value, "/") > 1 {
		return true
	}
	return strings.Trim(value, "0123456789") == "" && len(value) < 2*minValue
}
