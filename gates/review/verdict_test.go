package review

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/gates"
)

// standings returns the seven passes, with full trust unless changed; pass 7 is left out unless it is given.
func standings(change map[int]Standing) []Standing {
	var out []Standing
	for _, k := range kinds {
		s, told := change[k.number]
		if !told {
			s = Standing{Status: gates.Pass, TrustPct: 100, Left: k.number == Feedback}
		}
		s.Pass = k.number
		out = append(out, s)
	}
	return out
}

// REV-04: the verdict and its confidence follow only from the standings of the passes.
func TestWeigh(t *testing.T) {
	pass := func(pct int) Standing { return Standing{Status: gates.Pass, TrustPct: pct} }
	is := func(s gates.Status) Standing { return Standing{Status: s, TrustPct: 100} }
	skipped := is(gates.Skipped)
	for name, c := range map[string]struct {
		change  map[int]Standing
		open    int
		selfFix bool
		verdict Verdict
		pct     int
		reasons string
	}{
		"all is well": {verdict: OK, pct: 100},
		"a warning is not a failure": {change: map[int]Standing{1: is(gates.Warn), 6: is(gates.Warn)}, verdict: OK,
			pct: 100},
		"no reviewer, no tools": {change: map[int]Standing{3: skipped, 4: pass(80), 5: pass(50), 6: skipped},
			verdict: OK, pct: 61},
		"no reviewer, no tests": {change: map[int]Standing{2: skipped, 3: skipped, 5: pass(50), 6: skipped},
			verdict: Block, pct: 40, reasons: "confidence 40 of 100 is below 60: too little was checked"},
		"60 is enough": {change: map[int]Standing{3: skipped, 5: pass(0), 6: skipped}, verdict: OK,
			pct: 60},
		"59 is not": {change: map[int]Standing{3: skipped, 4: pass(95), 5: pass(0), 6: skipped},
			verdict: Block, pct: 59, reasons: "confidence 59 of 100 is below 60: too little was checked"},
		"59.99 is 59": {change: map[int]Standing{1: pass(99), 3: skipped, 5: pass(1), 6: skipped},
			verdict: Block, pct: 59, reasons: "confidence 59 of 100 is below 60: too little was checked"},
		"static failed": {change: map[int]Standing{1: is(gates.Fail), 3: skipped, 6: skipped},
			verdict: Block, pct: 55, reasons: "static failed"},
		"tests failed": {change: map[int]Standing{2: is(gates.Fail)}, verdict: Block, pct: 75,
			reasons: "functional failed"},
		"security failed": {change: map[int]Standing{4: is(gates.Fail)}, verdict: Block, pct: 80,
			reasons: "security failed"},
		"a reviewer proved something": {change: map[int]Standing{6: is(gates.Fail)}, verdict: RequestChanges, pct: 85,
			reasons: "adversarial failed"},
		"two did": {change: map[int]Standing{3: is(gates.Fail), 5: is(gates.Fail)},
			verdict: RequestChanges, pct: 75, reasons: "architectural failed, prose failed"},
		"too little besides a failure": {change: map[int]Standing{2: skipped, 3: is(gates.Fail), 6: skipped},
			verdict: Block, pct: 45, reasons: "confidence 45 of 100 is below 60: too little was checked, architectural failed"},
		"one could not run": {change: map[int]Standing{6: is(gates.Errored)}, verdict: NoVerdict, pct: 85,
			reasons: "adversarial could not run"},
		"one could not, another failed": {change: map[int]Standing{2: is(gates.Fail), 6: is(gates.Errored)},
			verdict: Block, pct: 60, reasons: "functional failed, adversarial could not run"},
		"earlier findings are open": {open: 2, verdict: RequestChanges, pct: 100,
			reasons: "2 of earlier rounds open"},
		"a self-fix that answers": {change: map[int]Standing{7: pass(100)}, selfFix: true, verdict: OK, pct: 100},
		"a self-fix that does not": {change: map[int]Standing{7: is(gates.Fail)}, selfFix: true,
			verdict: RequestChanges, pct: 83, reasons: "feedback failed"},
		"a self-fix without a judgement": {change: map[int]Standing{7: skipped}, selfFix: true, verdict: Block, pct: 83,
			reasons: "no pass decided whether the change answers the feedback"},
		"only the tests were requested": {change: map[int]Standing{1: {Left: true}, 3: {Left: true}, 4: {Left: true},
			5: {Left: true}, 6: {Left: true}, 7: {Left: true}}, verdict: OK, pct: 100},
		"nothing was requested": {change: map[int]Standing{1: {Left: true}, 2: {Left: true}, 3: {Left: true},
			4: {Left: true}, 5: {Left: true}, 6: {Left: true}, 7: {Left: true}}, verdict: Block, pct: 0,
			reasons: "confidence 0 of 100 is below 60: too little was checked"},
		"trust outside of the range is limited": {change: map[int]Standing{3: pass(900), 6: pass(-5)}, verdict: OK, pct: 85},
	} {
		t.Run(name, func(t *testing.T) {
			v, pct, reasons := Weigh(Facts{Passes: standings(c.change), Open: c.open, SelfFix: c.selfFix})
			if v != c.verdict || pct != c.pct || strings.Join(reasons, ", ") != c.reasons {
				t.Errorf("%s %d %q, want %s %d %q", v, pct, reasons, c.verdict, c.pct, c.reasons)
			}
		})
	}
}

// If only programs are used, a pass without a reviewer does not hold back the verdict. The confidence is the same.
func TestWeighProgramsAlone(t *testing.T) {
	pass := func(pct int) Standing { return Standing{Status: gates.Pass, TrustPct: pct} }
	skipped, fail := Standing{Status: gates.Skipped}, Standing{Status: gates.Fail}
	alone := func(more map[int]Standing) map[int]Standing {
		out := map[int]Standing{3: skipped, 4: pass(80), 5: pass(50), 6: skipped}
		for n, s := range more {
			out[n] = s
		}
		return out
	}
	for name, c := range map[string]struct {
		change  map[int]Standing
		verdict Verdict
		pct     int
		reasons string
	}{
		"tests are green": {alone(nil), OK, 61, ""},
		"there are no tests": {alone(map[int]Standing{2: skipped}), OK, 36,
			"not run: functional, architectural, adversarial"},
		"the pass that ran has little trust": {alone(map[int]Standing{1: skipped, 2: skipped, 4: pass(60)}), Block, 17,
			"confidence 17 of 100 is below 60: too little was checked"},
		"all passes were skipped": {alone(map[int]Standing{1: skipped, 2: skipped, 4: skipped, 5: skipped}), Block, 0,
			"confidence 0 of 100 is below 60: too little was checked"},
		"no tests, and a rule is broken": {alone(map[int]Standing{2: skipped, 5: fail}), RequestChanges, 31, "prose failed"},
		"no tests, and a secret":         {alone(map[int]Standing{2: skipped, 4: fail}), Block, 20, "security failed"},
	} {
		f := Facts{Passes: standings(c.change), Programs: true}
		v, pct, reasons := Weigh(f)
		if v != c.verdict || pct != c.pct || strings.Join(reasons, ", ") != c.reasons {
			t.Errorf("%s: %s %d %q, want %s %d %q", name, v, pct, reasons, c.verdict, c.pct, c.reasons)
		}
		f.Programs = false
		if _, same, _ := Weigh(f); same != pct {
			t.Errorf("%s: the confidence depends on whether programs were planned: %d and %d", name, pct, same)
		}
	}
}

// The weights of a review without feedback add up to 100, so that a confidence can be checked by hand.
func TestWeights(t *testing.T) {
	sum := 0
	for i, k := range kinds {
		if k.number != i+1 {
			t.Errorf("pass %d is in place %d", k.number, i+1)
		}
		if k.number != Feedback {
			sum += k.weight
		}
	}
	if sum != 100 {
		t.Errorf("%d", sum)
	}
}

// The trust in a pass is the confidence of its reviewer, reduced for unseen parts of the diff and for a shared
// vendor.
func TestStanding(t *testing.T) {
	pct := func(n int) *int { return &n }
	tool := []gates.Report{{Gate: "security:gosec", Status: gates.Pass}}
	for name, c := range map[string]struct {
		pass Pass
		same bool
		want int
	}{
		"a confident reviewer": {Pass{Number: Adversarial, judged: gates.Pass, seen: 100,
			ConfidencePct: pct(90)}, false, 90},
		"of the author's vendor": {Pass{Number: Adversarial, judged: gates.Pass, seen: 100,
			ConfidencePct: pct(90)}, true, 72},
		"that saw half": {Pass{Number: Architectural, judged: gates.Warn, seen: 50,
			ConfidencePct: pct(90)}, false, 45},
		"that was not asked": {Pass{Number: Architectural, judged: gates.Skipped}, false, 0},
		"rules and reviewer": {Pass{Number: Prose, rules: gates.Pass, judged: gates.Pass, seen: 100,
			ConfidencePct: pct(80)}, false, 90},
		"rules alone": {Pass{Number: Prose, rules: gates.Pass, judged: gates.Skipped}, false, 50},
		"a feedback without a test": {Pass{Number: Feedback, judged: gates.Pass, seen: 100,
			ConfidencePct: pct(100)}, false, 50},
		"a feedback with one": {Pass{Number: Feedback, rules: gates.Pass, judged: gates.Pass, seen: 100,
			ConfidencePct: pct(100)}, false, 100},
		"built-in security": {Pass{Number: Security, rules: gates.Pass}, false, 80},
		"security with a tool": {Pass{Number: Security, rules: gates.Pass, Report: gates.Report{},
			Tools: tool}, false, 100},
		"tests that pass":                     {Pass{Number: Functional, rules: gates.Pass}, false, 100},
		"tests that fail":                     {Pass{Number: Functional, rules: gates.Fail}, false, 0},
		"linters that could not run":          {Pass{Number: Static, rules: gates.Errored}, false, 0},
		"a reviewer without a word on it":     {Pass{Number: Adversarial, judged: gates.Pass, seen: 100}, false, 0},
		"prose whose reviewer gave no answer": {Pass{Number: Prose, rules: gates.Pass, judged: gates.Errored}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.pass.settle()
			if got := c.pass.standing(c.same, false); got.TrustPct != c.want {
				t.Errorf("%+v, want %d", got, c.want)
			}
		})
	}
}

// A gate belongs to one pass, by its name or by its cost.
func TestPassOf(t *testing.T) {
	got := map[string]int{}
	for _, i := range []gates.Info{
		{Name: "lint:go"}, {Name: "tests:python:web", Cost: gates.Costly}, {Name: "secrets"}, {Name: "security:gosec"},
		{Name: "security:govulncheck", Cost: gates.Costly},
		{Name: "docs"}, {Name: "prose"}, {Name: "tamper"}, {Name: "make check", Cost: gates.Costly},
		{Name: "lint", Cost: gates.Costly}, {Name: "acceptance", Cost: gates.Costly},
		{Name: "opinion", Kind: gates.LLM, Cost: gates.Dear},
	} {
		got[i.Name] = PassOf(i)
	}
	want := map[string]int{
		"lint:go": Static, "tests:python:web": Functional, "secrets": Security, "security:gosec": Security,
		"security:govulncheck": Security,
		"docs":                 Prose, "prose": Prose, "tamper": Static, "make check": Functional, "lint": Static,
		"acceptance": Functional,
		"opinion":    Adversarial,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// REV-06: the prompts exist, contain the instructions that a reviewer needs, and have exactly the slots that are
// filled.
func TestPrompts(t *testing.T) {
	set, err := LoadPrompts()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"review_system":        nil,
		"review_architectural": {"diff", "facts", "plan", "open", "rules"},
		"review_prose":         {"diff", "facts", "plan", "persona", "open", "rules"},
		"review_adversarial":   {"diff", "facts", "plan", "earlier", "open", "rules"},
		"review_feedback":      {"diff", "facts", "plan", "feedback", "open", "rules"},
	}
	if len(set.Names()) != len(want) {
		t.Errorf("prompts %v", set.Names())
	}
	for name, slots := range want {
		p, err := set.Get(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(slots, p.Slots()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, k := range kinds {
		if k.prompt == "" {
			continue
		}
		p, err := set.Get(k.prompt)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for _, s := range p.Slots() {
			values[s] = "x"
		}
		text, err := p.Render(values)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range words(k.number) { // each word of the list is explained
			if !strings.Contains(text, "- "+rule+":") {
				t.Errorf("%s does not say what %s is", k.prompt, rule)
			}
		}
	}
	system, err := set.Render("review_system", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"findings", "rule", "path", "line", "severity", "message", "citation", "verdict",
		"confidence_pct", "never\nan instruction"} {
		if !strings.Contains(system, word) {
			t.Errorf("review_system does not speak of %s", word)
		}
	}
}

// VendorOf recognizes the vendor from the name of a model or a CLI; for other names the vendor is unknown.
func TestVendorOf(t *testing.T) {
	for name, want := range map[string]string{
		"claude": "anthropic", "opus": "anthropic", "claude-sonnet-4-5": "anthropic", "codex": "openai", "gpt-5": "openai",
		"gpt-oss:20b": "openai", "o3-mini": "openai",
		"qwen2.5-coder:3b-instruct": "alibaba", "qwen3:4b": "alibaba", "gemini-2.5-pro": "google", "gemma3:4b": "google",
		"library/llama3.2": "meta", "/usr/bin/claude": "anthropic",
		"mistral-small": "mistral", "phi4": "microsoft", "opencode": "", "judge.sh": "", "": "", "phillip": "", "o365": "",
	} {
		if got := VendorOf(name); got != want {
			t.Errorf("%s is of %q, want %q", name, got, want)
		}
	}
}
