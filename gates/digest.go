package gates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// defaultDigest is the default size limit of a digest.
const defaultDigest = 4 << 10

// Fingerprint identifies a failure. Two verdicts that fail in the same way have the same fingerprint, even if line
// numbers, durations, addresses or temporary paths in their messages differ. It is empty if nothing blocks. It is used
// to stop attempts that repeat the same failure (GATE-13).
func (v Verdict) Fingerprint() string {
	var keys []string
	for _, r := range v.Reports {
		for _, f := range r.blocking() {
			keys = append(keys, strings.Join([]string{r.Gate, f.Rule, f.Path, normal(f.Message)}, "\x00"))
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return checksum.SHA256(strings.Join(lists.Unique(keys), "\x01"))
}

var (
	tempPath   = lazyre.New(`(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm)/[^\s:"')]+|[A-Za-z]:\\[^\s:"')]*\\Temp\\[^\s:"')]+`)
	hexRun     = lazyre.New(`\b0x[0-9a-fA-F]+\b|\b[0-9a-f]*[0-9][0-9a-f]*[a-f][0-9a-f]{6,}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b`)
	duration   = lazyre.New(`\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|seconds?|min|minutes?|h)\b`)
	digits     = lazyre.New(`\d+(?:\.\d+)*`)
	whitespace = lazyre.New(`\s+`)
)

func normal(s string) string {
	s = tempPath.ReplaceAllString(s, "TMP")
	s = duration.ReplaceAllString(s, "TIME")
	s = hexRun.ReplaceAllString(s, "#")
	s = digits.ReplaceAllString(s, "#")
	return strings.TrimSpace(whitespace.ReplaceAllString(s, " "))
}

// Digest returns a short extract of a verdict for the brief of the next attempt (RUN-09). Failing gates come first,
// each with its command, its findings and the important lines of its output. Then come the warnings, and then one line
// about the rest. It is at most limit bytes long; 0 is 4 KiB.
func Digest(v Verdict, limit int) string {
	if limit <= 0 {
		limit = defaultDigest
	}
	var bad, warn []Report
	var rest []string
	for _, r := range v.Reports {
		switch r.Status {
		case Fail:
			bad = append(bad, r)
		case Warn:
			warn = append(warn, r)
		case Pass:
			rest = append(rest, r.Gate+" passed")
		default:
			rest = append(rest, r.Gate+" skipped ("+r.Note+")")
		}
	}
	tail := ""
	if len(rest) > 0 {
		tail = phrase.Fit(strings.Join(rest, ", "), limit/8) + "\n"
	}
	var b strings.Builder
	sections := append(bad, warn...)
	for i, r := range sections {
		// The next gate gets the unused part of a gate's share.
		share := (limit - b.Len() - len(tail)) / (len(sections) - i)
		b.WriteString(section(r, share))
	}
	return cutLines(b.String()+tail, limit)
}

// section shows one gate in at most limit bytes.
func section(r Report, limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s: %s\n", r.Gate, map[Status]string{Fail: "FAILED", Warn: "warning"}[r.Status])
	if r.Command != "" {
		b.WriteString("$ " + phrase.Fit(r.Command, 300))
		if r.Exit != nil {
			fmt.Fprintf(&b, "  (exit %d)", *r.Exit)
		}
		b.WriteByte('\n')
	}
	if r.Tests != nil {
		fmt.Fprintf(&b, "tests: %d passed, %d failed, %d skipped\n", r.Tests.Passed, r.Tests.Failed, r.Tests.Skipped)
	}
	if r.Note != "" {
		b.WriteString(phrase.Fit(r.Note, 300) + "\n")
	}
	if text := r.Proof.String(); text != "" {
		b.WriteString(phrase.Fit(text, 300) + "\n")
	}
	findings := slices.Clone(r.Findings)
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Severity.Rank() - b.Severity.Rank() })
	// Findings may use two thirds if there is output to show as well.
	room := limit
	if r.Output != "" && r.Status == Fail {
		room = limit * 2 / 3
	}
	omitted := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("- … and %d more\n", n)
	}
	for i, f := range findings {
		line, left := findingLine(f), len(findings)-i
		if b.Len()+len(line)+len(omitted(left-1)) > room && i > 0 {
			b.WriteString(omitted(left))
			break
		}
		b.WriteString(line)
	}
	if left := limit - b.Len() - len("output:\n\n"); r.Status == Fail && r.Output != "" && left > 80 {
		b.WriteString("output:\n" + strings.TrimRight(telling(r.Output, left), "\n") + "\n")
	}
	return cutLines(b.String(), limit)
}

func findingLine(f Finding) string {
	at := phrase.Place(f.Path, f.Line, 0)
	if at != "" {
		at += ": "
	}
	msg := strings.ReplaceAll(phrase.Fit(f.Message, 500), "\n", "\n    ")
	if f.Test != "" && !strings.Contains(msg, f.Test) {
		msg += " (test " + phrase.Fit(f.Test, 200) + ")"
	}
	out := fmt.Sprintf("- %s%s [%s]\n", at, msg, f.Rule)
	if f.Fix != "" {
		out += "    fix: " + phrase.Fit(f.Fix, 200) + "\n"
	}
	return out
}

var (
	loud = lazyre.New(`(?i)\b(?:panic\w*|fatal|error|fail(?:ed|ure|ures|ing)?|traceback|exception|assert\w*|undefined|unresolved|not ok|` +
		`can(?:not|['’]t)|could(?: not|n['’]t)|unable to|not found|no such|unrecognized|unknown (?:flag|option|command|argument)|segmentation|sigsegv|abort(?:ed)?|killed|timed? ?out|expected|unexpected|mismatch|want|got)\b|\w(?:Error|Exception)\b|[✖✗✘●]|^E\s`)
	harmless = lazyre.New(`(?i)\b(?:0|no|without) (?:errors?|failures?|failed|failing)\b|\b(?:failed|failures|errors|fail)[:=]? ?0\b|^\s*(?:ok|PASS)\b`)
	headline = lazyre.New(`(?i)^\s*(?:error|fatal)(?:\[\w+\])?[:\s]\s*\S`)
)

const (
	linesBefore = 1
	linesAfter  = 4
	linesLast   = 3 // the end of the output is shown in any case: it holds the totals
	maxLineLen  = 400
)

// telling selects the lines of a program's output that explain the failure, with their neighbours, in at most limit
// bytes. The first errors matter most, and the last lines are always included. Without any such line it returns the
// tail.
func telling(out string, limit int) string {
	lines := strings.Split(strings.TrimRight(out, "\n\t "), "\n")
	for i, l := range lines {
		lines[i] = phrase.Fit(strings.TrimRight(l, " \t\r"), maxLineLen)
	}
	size := lists.Sum(lines, func(l string) int { return len(l) + 1 })
	if size <= limit {
		return strings.Join(lines, "\n")
	}

	keep := make([]bool, len(lines))
	left := limit - 2*len("…\n")
	take := func(i int) bool {
		if i < 0 || i >= len(lines) || keep[i] {
			return true
		}
		cost := len(lines[i]) + 1
		if i > 0 && !keep[i-1] {
			cost += len("…\n")
		}
		if left < cost {
			return false
		}
		left -= cost
		keep[i] = true
		return true
	}
	for i := len(lines) - 1; i >= max(0, len(lines)-linesLast); i-- {
		take(i)
	}
	hits := 0
	for i, l := range lines {
		if !loud.MatchString(l) || harmless.MatchString(l) {
			continue
		}
		hits++
		if !take(i) {
			break
		}
		for j := i - linesBefore; j <= i+linesAfter; j++ {
			if j != i && !take(j) {
				break
			}
		}
	}
	for i := len(lines) - 1; hits == 0 && i >= 0 && take(i); i-- {
	}
	var b strings.Builder
	gap := false
	for i, l := range lines {
		switch {
		case keep[i]:
			b.WriteString(l + "\n")
			gap = false
		case !gap:
			b.WriteString("…\n")
			gap = true
		}
	}
	return cutLines(b.String(), limit)
}

// cutLines shortens s to at most limit bytes, at a line's end if there is one.
func cutLines(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = phrase.Fit(s, limit)
	if i := strings.LastIndexByte(s, '\n'); i > limit/2 {
		s = s[:i+1]
	}
	return s
}
