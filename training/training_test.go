package training

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func anExample() Example {
	e := Example{
		Stage: ExecuteCode, Base: Coding, Source: Logged, Prompt: []Message{{"system", "be exact"}, {"user", "do it"}},
		Completion: "done", Positive: true,
		Signals: []Signal{{Name: "gates", Note: "all"}},
		Origin:  Origin{Repo: "example.org/r", Receipt: "ab", Model: "m", Files: []File{{"a.go", "1"}}},
	}
	e.ID = e.Sum()
	return e
}

// A repository has one name for all of its clone addresses, without credentials and without local paths.
func TestRepoName(t *testing.T) {
	for remote, want := range map[string]string{
		"https://example.org/team/words.git":           "example.org/team/words",
		"https://ada:geheim@Example.org/team/words":    "example.org/team/words",
		"https://ghp_token@example.org:8443/a/b.git":   "example.org/a/b",
		"ssh://git@example.org:22/team/words.git":      "example.org/team/words",
		"git@example.org:team/words.git":               "example.org/team/words",
		"example.org:team/words":                       "example.org/team/words",
		"https://example.org/team/words.git?token=abc": "example.org/team/words",
		"/home/ada/secret/words.git":                   "checkout",
		"../words":                                     "checkout",
		`C:\Users\ada\words`:                           "checkout",
		"file:///home/ada/words":                       "checkout",
		"":                                             "checkout",
		"https://example.org":                          "checkout",
	} {
		if got := RepoName(remote, "/home/ada/checkout"); got != want {
			t.Errorf("%q is called %q, want %q", remote, got, want)
		}
	}
}

// The canary finds a secret value wherever it is hidden, and reports its name, not the value.
func TestCanary(t *testing.T) {
	const value = "blue kingfisher 4711"
	c := NewCanary([]Secret{{"short", "abc"}, {"the bird", value}})
	for name, hide := range map[string]func(e *Example){
		"prompt":          func(e *Example) { e.Prompt[1].Content = "x " + value },
		"across lines":    func(e *Example) { e.Prompt[0].Content = "blue\n\tkingfisher\r\n 4711" },
		"completion":      func(e *Example) { e.Completion = value },
		"rejected answer": func(e *Example) { e.Rejected = "x" + value + "y" },
		"signals":         func(e *Example) { e.Signals[0].Note = value },
		"origin":          func(e *Example) { e.Origin.Files[0].Path = value },
		"batch":           func(e *Example) { e.Origin.Batch = value },
		"in hexadecimal":  func(e *Example) { e.Completion = hex.EncodeToString([]byte(value)) },
		"in base64":       func(e *Example) { e.Completion = "x " + base64.StdEncoding.EncodeToString([]byte(value)) },
	} {
		t.Run(name, func(t *testing.T) {
			e := anExample()
			hide(&e)
			var leak *LeakError
			if err := c.Check(e); !errors.As(err, &leak) || leak.Name != "the bird" || strings.Contains(err.Error(), "4711") {
				t.Errorf("error %v", err)
			}
		})
	}
	e := anExample()
	e.Completion = "abc, blue kingfisher 4712"
	if err := c.Check(e); err != nil {
		t.Errorf("nothing leaks, yet %v", err)
	}
}

// Scan reports which example of a file leaks.
func TestCanaryScan(t *testing.T) {
	good, bad := anExample(), anExample()
	bad.Completion = "blue kingfisher 4711"
	bad.ID = bad.Sum()
	var file strings.Builder
	for _, e := range []Example{good, bad} {
		line, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		file.Write(line)
	}
	c := NewCanary([]Secret{{"the bird", "blue kingfisher 4711"}})
	if err := c.Scan("pairs.jsonl", strings.NewReader(file.String())); err == nil ||
		!strings.Contains(err.Error(), "pairs.jsonl, example 2") {
		t.Errorf("error %v", err)
	}
	if err := NewCanary(nil).Scan("pairs.jsonl", strings.NewReader(file.String())); err != nil {
		t.Error(err)
	}
}

// Seal removes secrets from every text, computes the ID of the result, and does not change the caller's example.
func TestSeal(t *testing.T) {
	e := anExample()
	e.Prompt[1].Content, e.Signals[0].Note, e.Origin.Files[0].Path = "say HUSH", "HUSH", "HUSH.go"
	before := anExample()
	before.Prompt[1].Content, before.Signals[0].Note, before.Origin.Files[0].Path = "say HUSH", "HUSH", "HUSH.go"
	before.ID = e.ID
	g := Guard{Redact: func(s string) string { return strings.ReplaceAll(s, "HUSH", "[redacted]") }}
	got, err := g.Seal(e)
	if err != nil {
		t.Fatal(err)
	}
	line, err := got.Encode()
	if err != nil || strings.Contains(string(line), "HUSH") || got.ID != got.Sum() {
		t.Errorf("%s, %v", line, err)
	}
	if d := cmp.Diff(before, e); d != "" {
		t.Error("the example was changed:", d)
	}
	e.Origin.Receipt = ""
	if _, err := g.Seal(e); !errors.Is(err, ErrNoReceipt) {
		t.Errorf("without a receipt: %v", err)
	}
}

// A tally counts preference pairs separately, and lists its counts in the order of the stages.
func TestTally(t *testing.T) {
	var tally Tally
	add := func(s Stage, k Kind, positive bool, rejected string) {
		tally.Add(Example{Stage: s, Source: Logged, Kind: k, Positive: positive, Rejected: rejected})
	}
	add(Review, Retroactive, true, "")
	add(ExecuteCode, "", true, "")
	add(ExecuteCode, "", true, "worse")
	add(TaskAnalysis, "", false, "")
	add(Review, Forward, true, "")
	tally.Refuse("b", false)
	tally.Refuse("a", true)
	tally.Refuse("a", true)
	want := Tally{Examples: 5, Counts: []Count{
		{Stage: TaskAnalysis, Source: Logged, Negative: 1}, {Stage: ExecuteCode, Source: Logged, Positive: 1, Preference: 1},
		{Stage: Review, Source: Logged, Kind: Forward, Positive: 1},
		{Stage: Review, Source: Logged, Kind: Retroactive, Positive: 1},
	}, Refused: []Refusal{{"a", 2, true}, {"b", 1, false}}}
	if d := cmp.Diff(want, tally); d != "" {
		t.Error(d)
	}
}

// Read never returns a line as an example if it does not pass its own check.
func FuzzRead(f *testing.F) {
	line, err := anExample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(line))
	f.Add(`{"id":"x"}`)
	f.Add("\n\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		for e, err := range Read("f", strings.NewReader(text)) {
			if err == nil && e.Check() != nil {
				t.Errorf("%+v: %v", e, e.Check())
			}
		}
	})
}
