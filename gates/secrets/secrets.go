// Package secrets looks for secrets and for details of the infrastructure in what a change adds.
//
// It reads only added lines, not earlier commits. It never prints a value, only its kind, its first characters and its
// length. It ignores plain placeholders (EXAMPLE, changeme, xxxx, ${TOKEN}, <token>). docs/rules.md lists the rules.
//
// In folders of fixtures and third-party code, keys of a known shape and private keys are remarks, and assignments are
// not checked. In tests, examples and documents, guesses (assignments, URLs, JWTs) and private keys are remarks.
//
// A comment suppresses a guess (assignments, URLs, hosts, JWTs). It suppresses a key of a known shape only outside of a
// run, or if the plan itself contains the line: an agent cannot excuse itself.
package secrets

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/literal"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
)

// New makes the gate.
func New() gates.Gate {
	info := gates.Info{Name: "secrets", Kind: gates.Static, Cost: gates.Instant, Blocking: true, Pure: true}
	return gates.New(info, func(ctx context.Context, l *gates.Look) error {
		s := l.Subject()
		if s.Diff == nil {
			l.Skip("the base commit of the change is unknown, so nothing can be compared")
			return nil
		}
		files, large, err := gates.Files(ctx, s.Diff, func(c gates.Change) bool { return c.Status != gates.Deleted })
		if err != nil {
			return err
		}
		for _, p := range large {
			l.Find(gates.Finding{Rule: "secrets/not-looked-at", Severity: gates.Warning, Path: p,
				Message: "the file is too large to check"})
		}
		for _, f := range files {
			in := placeOf(f.Path)
			if f.Status != gates.Modified {
				for _, h := range in.named(f.Path) {
					l.Find(gates.Finding{
						Rule: "secrets/file-name", Severity: gates.Error, Path: f.Path,
						Message: fmt.Sprintf("the name of the file seems to contain a secret (%s)",
							strings.ReplaceAll(h.rule, "-", " ")), Fix: "rename the file",
					})
				}
			}
			if f.Status == gates.Added && f.From == "" && secretFile(f.Path) && strings.TrimSpace(f.After) != "" &&
				!harmlessEnv(f) {
				l.Find(gates.Finding{
					Rule: "secrets/file", Severity: gates.Error, Path: f.Path, Message: "files with this name usually contain secrets",
					Fix: "remove it, and add it to .gitignore",
				})
			}
			if skipped(f.Path) {
				continue
			}
			for _, line := range f.AddedLines() {
				hits := in.line(line.Text)
				for _, h := range hits {
					l.Find(h.finding(s, f.Path, line))
				}
				if finding, ok := known(s, f.Path, line); ok && len(hits) == 0 {
					l.Find(finding)
				}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	})
}

// assignment matches a secret-sounding name with a quoted or bare value.
var (
	assignment = lazyre.New(`(?i)([\w.-]{0,60}(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|client[_-]?secret|credential|encryption[_-]?key|signing[_-]?key)[\w-]{0,30})["']?\s{0,5}(?:=>|:=|=|:)\s{0,5}(?:["']([^"'\s]{8,500})["']|([A-Za-z0-9+/_=.~!@#$%^&*-]{12,500})\s*(?:$|[#;,]))`)
	ignoreMark = lazyre.New(`\brunplan:ignore\s+secrets(?:/[\w-]+)?\b[\s:—–-]*(.*)$`)
)

var (
	exampleHost  = lazyre.New(`(?i)(?:^|\.)(?:example\.(?:com|org|net)|localhost|test|invalid|local)$|^127\.|^host(?:name)?$|^db$|^postgres$|^redis$|^mysql$|^mongo$|^rabbitmq$`)
	speakingName = lazyre.New(`(?im)^\s*(?:export\s+)?\w*(?:passw|secret|token|key|credential|dsn|_url)\w*\s*=\s*(\S+)`)
	localAddress = lazyre.New(`^["']?(?:[\w+.-]+://(?:[\w.-]+(?::\w*)?@)?(?:localhost|127\.0\.0\.1|\[::1\]|[\w-]*\.?example\.\w+)\b|file:|\$)`)
	aVersion     = lazyre.New(`(?i)version|semver`)
	envSample    = lazyre.New(`(?i)example|sample|template|dist|test|defaults`)
)

// hit is a secret in a line.
type hit struct {
	rule     string
	value    string
	guess    bool
	severity gates.Severity
	reason   string // of a comment that suppresses it
	marked   bool   // a comment suppresses it
	message  string
}

// maxLine limits the bytes that are read at a time. Minified code has lines of megabytes, which are read in parts.
const maxLine = 4 << 10

// place holds what the path of a file says about secrets in it.
type place struct {
	fixture bool           // see [fixture]
	madeUp  bool           // see [madeUp]
	bare    bool           // values need no quotes
	client  gates.Severity // of a private address; "" if the file is not sent to clients
}

func placeOf(file string) place {
	p := place{fixture: fixture(file), madeUp: madeUp(file), bare: plainText(file)}
	if !p.fixture {
		p.client = client(file)
	}
	return p
}

// line looks for secrets in one line.
func (p place) line(text string) []hit {
	var out []hit
	for len(text) > maxLine {
		cut := maxLine
		if i := strings.LastIndexAny(text[:maxLine], " ,;\t"); i > maxLine/2 {
			cut = i
		}
		out = append(out, p.part(text[:cut])...)
		text = text[cut:]
	}
	return append(out, p.part(text)...)
}

func (p place) part(text string) []hit {
	out := p.named(text)
	if h, ok := p.infrastructure(text); ok {
		out = append(out, h)
	}
	if len(out) == 0 {
		return nil
	}
	if m := ignoreMark.FindStringSubmatch(text); m != nil {
		reason := strings.TrimSpace(strings.TrimRight(m[1], "*/ ->"))
		for i := range out {
			out[i].marked, out[i].reason = true, reason
		}
	}
	return out
}

// hints finds texts that may assign a secret or contain a private address.
var hints = sync.OnceValue(func() *literal.Groups {
	return literal.NewGroups(literal.Needs(assignment.String()), literal.Needs(privateHost.String()))
})

// Groups of [hints].
const (
	assigns = 1 << iota
	addresses
)

// Hints returns literals. Every line with a guessed secret contains one of them, unless the secret is escaped or
// encoded. They do not cover addresses and known values.
func Hints() []literal.Lit { return append(redact.Hints(), literal.Needs(assignment.String())...) }

// named looks for secrets in a line of a file.
func (p place) named(text string) []hit {
	var out []hit
	for _, m := range redact.Find(text) {
		rule := m.Kind.ID
		if rule == "assignment" || rule == "authorization" || redact.Placeholder(m.Value) {
			continue // another rule below covers the first and knows files; the second is a guess about any word
		}
		if rule == "url-password" &&
			(len(m.Value) < 3 || strings.ContainsAny(m.Value, "{}$") || exampleHost.MatchString(hostOf(m.Behind)) ||
				redact.Weak(m.Value)) ||
			rule == "openai-key" && redact.Entropy(m.Value) < 3.3 {
			continue
		}
		h := hit{rule: rule, value: m.Value, guess: m.Kind.Guess, severity: gates.Error}
		if m.Value == "" {
			h.value, h.message = text[m.From:m.To],
				fmt.Sprintf("a probable secret (%s, in base64) would be committed", strings.ReplaceAll(rule, "-", " "))
		}
		if rule == "stripe-key" && strings.Contains(m.Value, "_test_") {
			h.severity = gates.Warning
		}
		if p.fixture || (h.guess || rule == "private-key" || rule == "age-key") && p.madeUp {
			h.severity = gates.Note
		}
		out = append(out, h)
	}
	if len(out) == 0 && !p.fixture && hints().In(text)&assigns != 0 {
		out = p.assigned(text)
	}
	return out
}

// hostOf returns the host after the password of a URL.
func hostOf(behind string) string {
	host := strings.TrimPrefix(behind, "@")
	if i := strings.IndexFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-')
	}); i >= 0 {
		host = host[:i]
	}
	return host
}

// assigned looks for random-looking values assigned to secret-sounding names.
func (p place) assigned(text string) []hit {
	var out []hit
	for _, m := range assignment.FindAllStringSubmatch(text, 20) {
		value := m[2]
		bare := value == ""
		if bare {
			if value = m[3]; !p.bare { // in code, text without quotes is an expression
				continue
			}
		}
		if redact.Placeholder(value) || redact.Weak(value) || redact.Reference(value) || redact.PublicName(m[1]) {
			continue
		}
		sev := gates.Error
		if p.madeUp {
			sev = gates.Note
		}
		out = append(out, hit{rule: "assignment", value: value, guess: true, severity: sev})
	}
	return out
}

// plainText reports whether values in the file need no quotes.
func plainText(file string) bool {
	base := path.Base(file)
	switch path.Ext(base) {
	case ".env", ".yml", ".yaml", ".ini", ".cfg", ".conf", ".properties", ".toml", ".tfvars":
		return true
	}
	return strings.HasPrefix(base, ".env") || base == "credentials" || base == ".npmrc" || base == ".netrc"
}

var (
	privateHost = lazyre.New(`\b(10\.\d{1,3}\.\d{1,3}\.\d{1,3}|192\.168\.\d{1,3}\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])\.\d{1,3}\.\d{1,3}|169\.254\.169\.254)\b|(?:https?|wss?|grpc|postgres\w*|mysql|redis|amqp|mongodb)://[\w.-]*?\.(?:internal|corp|lan|intranet|svc\.cluster\.local|consul)\b|\b[\w-]+\.(?:svc\.cluster\.local|compute\.internal|ec2\.internal)\b`)
	clientPath  = lazyre.New(`(?i)(?:^|/)(?:client|frontend|web|www|public|static|assets|ui|components|pages|views|mobile|ios|android)/`)
	serverPath  = lazyre.New(`(?i)(?:^|/)(?:server|backend|api|scripts?|tools?|infra|deploy|terraform|ansible|docs?|k8s|test|tests|__tests__|e2e)/|\.(?:config|test|spec|stories)\.\w+$`)
)

// client returns the severity of a private address in a file that is sent to clients, or "".
func client(file string) gates.Severity {
	switch path.Ext(file) {
	case ".html", ".htm", ".vue", ".svelte", ".jsx", ".tsx", ".css", ".scss", ".swift", ".dart":
		if serverPath.MatchString(file) && !clientPath.MatchString(file) {
			return ""
		}
		return gates.Error
	case ".js", ".ts", ".mjs", ".mts", ".kt", ".json":
		switch {
		case clientPath.MatchString(file):
			return gates.Error
		case path.Ext(file) != ".json" && !serverPath.MatchString(file):
			return gates.Warning
		}
	}
	return ""
}

// infrastructure looks for private addresses in code that is sent to clients.
func (p place) infrastructure(text string) (hit, bool) {
	if p.client == "" || hints().In(text)&addresses == 0 {
		return hit{}, false
	}
	m := privateHost.FindString(text)
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "*") || strings.HasPrefix(t, "//") {
		return hit{}, false // a comment is not sent
	}
	if m == "" || aVersion.MatchString(text) && !strings.Contains(m, "//") {
		return hit{}, false
	}
	return hit{rule: "private-host", value: m, guess: true, severity: p.client,
		message: "a private address or host name that clients will see"}, true
}

// secretFile reports whether a name is that of a file that holds secrets.
func secretFile(p string) bool {
	base := path.Base(p)
	if fixture(p) {
		return false
	}
	if strings.HasPrefix(base, ".env") && !gates.Match([]string{"**/{__tests__,test,tests}/**"}, p) {
		return !envSample.MatchString(base)
	}
	switch base {
	case "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".netrc", ".pgpass", ".htpasswd":
		return true
	}
	switch path.Ext(base) {
	case ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx":
		return true
	}
	return false
}

// harmlessEnv reports whether f is a file of settings without a secret-sounding name.
func harmlessEnv(f gates.File) bool {
	if !strings.HasPrefix(path.Base(f.Path), ".env") {
		return false
	}
	return !slices.ContainsFunc(speakingName.FindAllStringSubmatch(f.After, -1),
		func(m []string) bool { return !localAddress.MatchString(m[1]) && !redact.Placeholder(m[1]) })
}

// fixture reports whether a file is in a folder of test data or third-party code.
func fixture(p string) bool {
	return language.Copied(p) || language.TestData(p) ||
		gates.Match([]string{"**/{__mocks__,test-fixtures,third_party}/**"}, p)
}

// madeUp reports whether values that only look like secrets are probably invented in this file: tests and documents
// have many of them. A key of a known shape still counts there.
func madeUp(p string) bool {
	return language.IsTest(p) ||
		gates.Match([]string{"**/*.{md,mdx,rst,adoc}", "**/{tests,test,__tests__,examples,samples}/**", "**/*-tests/**"}, p)
}

// skipped reports whether a file is generated and full of hashes.
func skipped(p string) bool {
	return gates.Match([]string{"go.sum", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock",
		"Cargo.lock", "*.min.js.map"}, p)
}

// finding makes the finding of a hit, without the value itself.
func (h hit) finding(s gates.Subject, file string, line gates.Line) gates.Finding {
	f := gates.Finding{Rule: "secrets/" + h.rule, Severity: h.severity, Path: file, Line: line.Number}
	what := h.message
	if what == "" {
		what = fmt.Sprintf("a probable secret (%s: %s) would be committed", strings.ReplaceAll(h.rule, "-", " "),
			veil(h))
	}
	f.Message = what
	f.Fix = "read it from the environment; replace a key that was written to disk"
	if h.rule == "private-host" {
		f.Fix = "read it from the configuration of the deployment"
	}
	if !h.marked {
		return f
	}
	switch {
	case len(h.reason) < 3:
		f.Message += "; the comment that suppresses it gives no reason"
	case h.guess || s.Batch.Key == "" || spelledOut(s, line.Text):
		f.Rule, f.Severity, f.Fix = "secrets/suppressed", gates.Warning, ""
		f.Message = what + "; a comment suppresses it: " + h.reason
	default:
		f.Message += "; a comment in the same change cannot suppress a known kind of key"
	}
	return f
}

func spelledOut(s gates.Subject, line string) bool {
	return slices.ContainsFunc(s.Batch.Blocks,
		func(b planparse.Block) bool { return strings.Contains(b.Text, strings.TrimSpace(line)) })
}

// veil returns the part of a secret that a message may show: a few first characters and the length.
func veil(h hit) string {
	if h.rule == "private-key" {
		return "its first line"
	}
	shown := h.value[:min(4, len(h.value)/4)]
	return fmt.Sprintf("%s… of %d characters", strings.ToValidUTF8(shown, ""), len(h.value))
}
