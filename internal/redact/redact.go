// Package redact keeps secrets and terminal tricks out of what is stored or shown, and out of the
// environment of agents.
//
// A [Redactor] knows the values of secret-looking environment variables and the shapes of common
// tokens. It is a net, not a proof: a secret that is cut in two, or encrypted, or spelled backwards,
// passes. So what an agent has no need of is not given to it in the first place, see [AgentEnv].
package redact

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/literal"
)

// minValue is the length from which a value is taken for a secret; shorter ones occur in any text.
const minValue = 8

// Redactor replaces secrets. It is safe for concurrent use.
type Redactor struct {
	known  *literal.Set      // the values that values replaces
	values *strings.Replacer // nil: none are known
}

type shape struct {
	re      *lazyre.Regexp
	replace string
}

// New learns the values of those variables of env, KEY=VALUE, whose names look secret, and extra, which
// are secret values themselves.
func New(env []string, extra ...string) *Redactor {
	names := map[string]string{} // by value
	learn := func(name, value string) {
		if len(value) < minValue {
			return
		}
		if _, ok := names[value]; !ok {
			names[value] = name
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if SecretName(name) && !harmless(name, value) {
			for _, v := range spellings(value) {
				learn(name, v)
			}
		}
	}
	for _, value := range extra {
		for _, v := range spellings(value) {
			learn("secret", v)
		}
	}
	return &Redactor{known: literal.NewSet(literal.Exactly(slices.Collect(maps.Keys(names))...)), values: replacer(names)}
}

// replacer replaces long values first: one secret may begin with another.
func replacer(names map[string]string) *strings.Replacer {
	if len(names) == 0 {
		return nil
	}
	values := make([]string, 0, len(names))
	for v := range names {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, v, mark(names[v]))
	}
	return strings.NewReplacer(pairs...)
}

func mark(name string) string { return "[redacted " + name + "]" }

// String returns s with each known secret replaced by [redacted NAME].
func (r *Redactor) String(s string) string {
	if r == nil || s == "" {
		return s
	}
	if r.known.Next(s, 0) >= 0 {
		s = r.values.Replace(s)
	}
	found := hints().In(s)
	for i := 0; found != 0 && i < len(shapes); i++ {
		if found>>i&1 != 0 {
			s = shapes[i].re.ReplaceAllString(s, shapes[i].replace)
		}
	}
	return s
}

// hints tells which shapes a text may have: most have none, and an expression takes long to say so.
var hints = sync.OnceValue(func() *literal.Groups { return literal.NewGroups(needs()...) })

// needs are the literals that the shapes need, by their number.
func needs() [][]literal.Lit {
	var out [][]literal.Lit
	for _, s := range shapes {
		out = append(out, literal.Needs(s.re.String()))
	}
	return out
}

// Hints are the literals of which each text has one that is changed for what it looks like.
func Hints() []literal.Lit { return slices.Concat(needs()...) }

// spellings lists how a value may appear: as it is, its single lines, in JSON, in a URL, in base64.
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
	out = append(out, url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)),
		strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(value)), "="))
	return out
}

// SecretName reports whether a variable of this name is likely to hold a secret.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{
		"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY", "ACCESS_KEY",
		"PRIVATE_KEY", "CREDENTIAL",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if slices.Contains(words, "PRIVATE") {
		return true
	}
	if len(words) < 2 {
		return false
	}
	switch words[len(words)-1] {
	case "KEY", "PASS", "PAT", "AUTH", "PWD", "COOKIE":
		return name != "OLD_PWD"
	}
	return false
}

// harmless tells a place where a secret lies, a switch or a number from a secret.
func harmless(name, value string) bool {
	name = strings.ToUpper(name)
	for _, end := range []string{"_FILE", "_PATH", "_DIR", "_SOCK", "_HOME"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	if strings.Contains(name, "CREDENTIAL") && strings.HasPrefix(value, "/") && strings.Count(value, "/") > 1 {
		return true
	}
	return strings.Trim(value, "0123456789") == "" && len(value) < 2*minValue
}

// named is a shape of which nothing stays but its name.
func named(name, expr string) shape {
	return shape{re: lazyre.New(expr), replace: mark(name)}
}

// shapes lists what is a secret by its looks.
var shapes = []shape{
	named("PRIVATE_KEY", `(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|[A-Za-z0-9+/=\s\\]*)`),
	named("GITHUB_TOKEN", `\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`),
	named("GITLAB_TOKEN", `\bglpat-[A-Za-z0-9_-]{16,}`),
	named("API_KEY", `\b(?:sk-[A-Za-z0-9_-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{24,}|AIza[0-9A-Za-z_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,})`),
	named("AWS_KEY", `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
	named("SLACK_TOKEN", `\bxox[a-z]-[A-Za-z0-9-]{10,}`),
	named("SLACK_HOOK", `https://hooks\.slack\.com/services/[A-Za-z0-9/_-]{8,}`),
	named("NPM_TOKEN", `\bnpm_[A-Za-z0-9]{36}`),
	named("PYPI_TOKEN", `\bpypi-[A-Za-z0-9_-]{50,}`),
	named("JWT", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+`),
	{
		re: lazyre.New(`(?i)(authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+)[A-Za-z0-9+/._~=-]{8,}`),
		// the name of the scheme stays: it helps, and is no secret
		replace: "${1}" + mark("AUTHORIZATION"),
	},
	{
		re:      lazyre.New(`\b([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>]*):([^\s/@"'<>\[]+)@`),
		replace: "${1}:" + mark("URL_PASSWORD") + "@",
	},
}
