package literal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func required(t *testing.T, expr string) Need {
	t.Helper()
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return Required(re)
}

func TestRequired(t *testing.T) {
	for expr, want := range map[string]string{
		`^\s*except\s*:`:                         "except",
		`assert.*==\s*\d+`:                       "assert",
		`for .+ in self\..+:`:                    " in self.",
		`api[_-]?key\s*=`:                        "api-key api_key apikey",
		`(?i)Token`:                              "i:token",
		`on(?:click|change)=\{`:                  "onchange={ onclick={",
		`foo|b`:                                  "", // one way needs too little
		`(?:abc)+x`:                              "abc",
		`(?:abcd)*x`:                             "",
		`\.(?:map|filter)\(h =>`:                 ".filter(h => .map(h =>",
		`\w+`:                                    "",
		`\b(?:ghp_\w{36}|github_\w{9}|glpat-\d)`: "ghp_ github_ glpat-",
		`[xy]ab(?:c\d+|d\w)e`:                    "xabc xabd yabc yabd",
		`(?:secret|token)\w*\s*=\s*"x`:           "secret token",
		`https?://\d`:                            "http:// https://",
	} {
		need := required(t, expr)
		var words []string
		for _, l := range need.Any {
			if l.Fold {
				l.Text = "i:" + l.Text
			}
			words = append(words, l.Text)
		}
		slices.Sort(words)
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// Before reports whether a match may have a line feed before the literal.
func TestRequiredBefore(t *testing.T) {
	for expr, want := range map[string]bool{
		`except[^\n]*:\n\s*pass`: false,
		`x\s*catch_all`:          true,
		`(?s)a.*catch_all`:       true,
		`catch_all(?s).*z`:       false,
		`\n(?:catch_all)`:        false, // the literal has the line feed in it, so a match begins where it does
	} {
		if got := required(t, expr).Before; got != want {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
}

// The analysis determines whether an expression crosses lines, and agrees with CrossesLines.
func TestAnalysisMatchesCrossesLines(t *testing.T) {
	for _, expr := range []string{`a{0,30}\nb`, `(?:x\s*y){2,9}z`, `(?s)a.*b`, `[^x]{1,50}foo`, `(a|\n)b?`, `(?:\n)*abc`,
		`(?:a\n)?`, `(?:a|b){3}[^\n]+`, `abc`, ``} {
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if re = re.Simplify(); analyse(re).crosses != CrossesLines(re) {
			t.Errorf("%s: %v, want %v", expr, analyse(re).crosses, CrossesLines(re))
		}
	}
}

// A repetition that is analysed as two parts has the same literals as all of its parts.
func TestShortRepetitionsHaveSameLiterals(t *testing.T) {
	for _, expr := range []string{`gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{36}`, `[a-z]{2}x{3}key`, `\d{0,9}key_[^\n]{1,50}=`,
		`(?:[A-Z]{9}|key[a-z]{3,5}_)id`, `[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}`, `(?:[^x]{1,9}key){0,100}\s*=`,
		`key(?s:.{3})end`, `[ab]{3}key`, `(?i)[^k]{0,1}key_[a-z]{0}x{2,4}`, `a\s{1,8}catch_all`, `[^a]{2,2}[^b]{3}abc`} {
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		before := re.String()
		if diff := cmp.Diff(analyse(re.Simplify()), analyse(fewer(re).Simplify()), cmp.AllowUnexported(info{})); diff != "" {
			t.Errorf("%s (-all parts, +two):\n%s", expr, diff)
		}
		if re.String() != before {
			t.Errorf("%s became %s", before, re)
		}
	}
}

// BenchmarkRequired measures the analysis of a nested expression, which visits each part once.
func BenchmarkRequired(b *testing.B) {
	re, err := syntax.Parse(`(?:[^x]{1,9}key){0,100}\s*=`, syntax.Perl)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Required(re)
	}
}

func find(lits []Lit, text string) []string {
	buf := make([]byte, len(text), len(text)+Pad)
	copy(buf, text)
	var out []string
	for _, m := range NewSet(lits).Append(nil, buf) {
		out = append(out, fmt.Sprintf("%d@%d", m.Lit, m.Pos))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func naive(lits []Lit, text string) []string {
	var out []string
	for i, l := range lits {
		for at := range len(text) {
			if at+len(l.Text) > len(text) {
				break
			}
			got := text[at : at+len(l.Text)]
			if got == l.Text || l.Fold && strings.ToLower(got) == l.Text {
				out = append(out, fmt.Sprintf("%d@%d", i, at))
			}
		}
	}
	slices.Sort(out)
	return out
}

// The set finds the same literals as a simple search, anywhere in a text.
func TestSetMatchesSimpleSearch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abAB[{"[rnd.IntN(6)]
		}
		return string(b)
	}
	for range 3000 {
		var lits []Lit
		for range 1 + rnd.IntN(4) {
			l := Lit{Text: word(Shortest + rnd.IntN(8)), Fold: rnd.IntN(2) == 0}
			if l.Fold {
				l.Text = strings.ToLower(l.Text)
			}
			lits = append(lits, l)
		}
		text := word(rnd.IntN(60))
		if at := rnd.IntN(len(text) + 1); rnd.IntN(2) == 0 {
			text = text[:at] + lits[0].Text + text[at:]
		}
		if got, want := find(lits, text), naive(lits, text); !slices.Equal(got, want) {
			t.Fatalf("%v in %q: %v, want %v", lits, text, got, want)
		}
	}
}

// Each match of an expression contains one of its required literals.
func FuzzRequired(f *testing.F) {
	for _, expr := range []string{`^\s*except\s*:`, `a(b|cde)+f?ghij`, `(?i)to[kx]en|xyz`, `[ab]c{2,4}d\n?eee`} {
		f.Add(expr, "except: tokenab ccdeee\nacdefghij")
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil || len(expr) > 200 {
			return
		}
		need := Required(tree)
		if len(need.Any) == 0 {
			return
		}
		// Some letters beyond ASCII fold into ASCII letters; this is a documented limit.
		if strings.ContainsFunc(text, func(r rune) bool { return r > 127 }) {
			return
		}
		for _, m := range regexp.MustCompile(expr).FindAllString(text, -1) {
			if len(find(need.Any, m)) == 0 {
				t.Fatalf("%q matches %q, but none of %v is in it", expr, m, need.Any)
			}
		}
	})
}

func BenchmarkSet(b *testing.B) {
	text := bytes.Repeat([]byte("func (s *Set) verify(dst []Match, text []byte) []Match {\n\treturn dst // nothing\n}\n"),
		10000)
	text = append(text, make([]byte, Pad)...)
	set := NewSet([]Lit{{"except", false}, {"catch", false}, {"secret", true}, {" in self.", false},
		{".subscribe(", false}})
	b.SetBytes(int64(len(text)))
	var dst []Match
	for b.Loop() {
		dst = set.Append(dst[:0], text[:len(text)-Pad])
	}
}
