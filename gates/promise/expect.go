package promise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/planparse"
)

// expectation is the result that the plan states for a command.
type expectation struct {
	status bool   // check the exit status
	exit   int    // wanted status; -1 is any status except 0
	text   string // text that the output must contain
	exact  bool   // text is quoted: literal output, not a description
	empty  bool   // nothing is printed
	loose  bool   // the plan states no result, or describes it in words: a failure warns
}

var (
	exitStatus = lazyre.New(`(?i)\bexit(?:s|ed)?(?: with)?(?: status| code)?:? ?(\d{1,3})\b`)
	quotedOnly = lazyre.New(
		"^(?:output(?: is| contains| " +
			"includes)?:?\\s*|prints:?\\s*|contains:?\\s*)?(?:`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|'([^']+)')[.!]?(?:\\s*\\([^)]*\\)\\.?)?$")
	fencedText = lazyre.New("(?s)^```\n(.*)\n```$")
	number     = lazyre.New(`^\d+$`)
	exceptions = lazyre.New(`(?i)\b(?:until|except|unless|only|still|yet|but|other than|apart from)\b`)
	nothing    = lazyre.New(`(?i)^(?:no (?:output|matches|results|hits|lines|files)\b|nothing(?: is)?(?: printed)?\b|empty(?: output)?\b|0 matches\b|zero matches\b)`)
)

// expectationOf reads the expectation of a command.
func expectationOf(c planparse.Command) expectation {
	said := strings.TrimSpace(strings.Trim(strings.TrimSpace(c.Said), "*"))
	if m := exitStatus.FindStringSubmatch(said); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return expectation{status: true, exit: n}
		}
	}
	if nothing.MatchString(said) {
		plain := strings.HasPrefix(strings.ToLower(said), "no output") && !exceptions.MatchString(said)
		return expectation{empty: true, loose: !plain}
	}
	switch c.Expected {
	case "PASS":
		return expectation{status: true}
	case "FAIL":
		return expectation{status: true, exit: -1}
	case "": // a check must pass even if the plan does not say so
		return expectation{status: true, loose: !checks(c.Run)}
	}
	if m := fencedText.FindStringSubmatch(said); m != nil {
		return expectation{text: m[1], exact: true}
	}
	if m := quotedOnly.FindStringSubmatch(said); m != nil {
		return expectation{text: m[1] + m[2] + m[3] + m[4], exact: true}
	}
	if number.MatchString(said) {
		return expectation{text: said, exact: true}
	}
	return expectation{status: true, text: c.Expected, loose: true}
}

// wrong describes how a result differs from the expectation; certain is false if the plan describes it only in words.
func (e expectation) wrong(end gates.Ended) (rule, what string, certain bool) {
	out := redact.Clean(end.Text)
	switch {
	case e.empty:
		if strings.TrimSpace(out) != "" {
			return RuleOutput, fmt.Sprintf("it printed %q, but the plan expects no output", shown(out)), !e.loose
		}
		if end.Exit > 1 || end.Exit < 0 {
			return RuleExpected, end.How + ", but the plan expects no output", true
		}
		return "", "", true
	case e.status && e.exit == 0 && !end.OK():
		what = end.How + ", expected to pass"
		if e.loose {
			what = end.How
			if e.text != "" {
				what += fmt.Sprintf("; the plan expects: %s", shown(e.text))
			}
		}
		return RuleExpected, what, !e.loose
	case e.status && e.exit == -1 && end.OK():
		return RuleExpected, "it passed, expected to fail", true
	case e.status && e.exit > 0 && end.Exit != e.exit:
		return RuleExpected, fmt.Sprintf("%s, expected exit %d", end.How, e.exit), true
	case e.text != "" && e.exact && !holds(out, e.text):
		return RuleOutput, fmt.Sprintf("its output does not contain the expected %q (%s)", shown(e.text), end.How), true
	}
	return "", "", true
}

// holds reports whether output contains the text, ignoring white space. "…" and "..." in the text match anything.
func holds(output, text string) bool {
	out := strings.Join(strings.Fields(output), " ")
	if number.MatchString(text) {
		return slices.ContainsFunc(strings.Fields(out),
			func(f string) bool { return strings.Trim(f, ".,:;()") == text })
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "...", "…"), "…") {
		part = strings.TrimSpace(part)
		_, rest, ok := strings.Cut(out, part)
		if !ok {
			return false
		}
		out = rest
	}
	return true
}
