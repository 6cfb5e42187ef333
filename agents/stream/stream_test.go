package stream

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testClock() func() time.Time {
	return func() time.Time { return time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC) }
}

func TestMendClosesTruncatedJSON(t *testing.T) {
	tests := map[string]string{
		`{"type":"text","a":"hel`:             `{"type":"text","a":"hel"}`,
		`{"type":"text","a":"hel\`:            `{"type":"text","a":"hel"}`,
		`{"type":"text","a":"hel\u00`:         `{"type":"text","a":"hel"}`,
		`{"type":"text","a":"hel\n`:           `{"type":"text","a":"hel\n"}`,
		`{"type":"text","a`:                   `{"type":"text"}`,
		`{"type":"text","a"`:                  `{"type":"text"}`,
		`{"type":"text","a":`:                 `{"type":"text"}`,
		`{"type":"text","a":tr`:               `{"type":"text"}`,
		`{"type":"text",`:                     `{"type":"text"}`,
		`{"type":"text","a":{"b":[{"c":"d`:    `{"type":"text","a":{"b":[{"c":"d"}]}}`,
		`{"type":"text","a":{"b":[1,2,`:       `{"type":"text","a":{"b":[]}}`,
		`{"type":"text"} trailing`:            `{"type":"text"}`,
		`{"type":"text"]`:                     `{"type":"text"}`,
		"{\"type\":\"te\x01xt\",\"a\":\"\xc3": `{"type":"te xt","a":""}`,
		`{half`:                               `{}`,
	}
	for in, want := range tests {
		if got := string(mend([]byte(in))); got != want {
			t.Errorf("%s\nbecomes %s\nnot     %s", in, got, want)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for _, f := range append(Formats(), Plain) {
		p := New(f, testClock())
		long := []byte(strings.Repeat("x", 1<<16))
		for range 64 { // one line of four megabytes
			_, _ = p.Write(long)
		}
		_, _ = p.Write([]byte("\n"))
		for i := range 9000 {
			fmt.Fprintf(p, "stray line %d\n{\"type\":\"news %d\"}\n", i, i)
		}
		p.Close()
		if n := len(p.buf); n > 0 || cap(p.buf) > 4*maxLine {
			t.Errorf("%s keeps a line of %d bytes in %d", f, n, cap(p.buf))
		}
		if n := len(p.Take()); n > maxWaiting {
			t.Errorf("%s keeps %d events", f, n)
		}
		if n := len(p.Totals().OtherLines); n > maxOtherLines {
			t.Errorf("%s keeps %d stray lines", f, n)
		}
		if got := p.Totals(); f.Lines() && (got.Unknown != 9000 || got.Events != 9000) {
			t.Errorf("%s: %d events, %d unknown", f, got.Events, got.Unknown)
		}
	}
}

func TestEventLinesOmitControlCodes(t *testing.T) {
	e := Event{Kind: Tool, Tool: "Ba\x1b[31msh", Text: "go\x07 test"}
	if d := cmp.Diff([]string{"▸ Bash: go test"}, e.Lines()); d != "" {
		t.Error(d)
	}
	e = Event{Kind: Text, Text: "one\r\n\x1b]0;title\x07two\n"}
	if d := cmp.Diff([]string{"one", "two"}, e.Lines()); d != "" {
		t.Error(d)
	}
}

func TestShortArgs(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"go test ./...","description":"x"}`: "go test ./...",
		`{"command":["bash","-lc","ls"]}`:               "bash -lc ls",
		`{"file_path":"/w/a.go","content":"long"}`:      "/w/a.go",
		`{"todos":[1,2]}`:                               `{"todos":[1,2]}`,
		`{"command":"a\nb"}`:                            "a b",
		`{}`:                                            "",
		``:                                              "",
		`{"prompt":"` + strings.Repeat("x", 500) + `"}`: strings.Repeat("x", 160) + "…",
	} {
		if got := shortArgs(json.RawMessage(in)); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func TestFaultFieldsTakePrecedenceOverText(t *testing.T) {
	p := New(Claude, testClock())
	tests := map[string]struct {
		status        int
		code, message string
		want          FaultKind
	}{
		"a word":               {0, "rate_limit", "please log in", Limit},
		"a status":             {401, "", "rate limit", Auth},
		"a status in the text": {0, "", "unexpected status 503 Service Unavailable: rate limit", Overloaded},
		"429 without credit": {429, "",
			"You exceeded your current quota, please check your plan and billing details.", Quota},
		"the same, but it comes back":    {429, "", "check your plan and billing details. Please retry in 30s", Limit},
		"an ASCII apostrophe":            {0, "", "You've hit your limit", Limit},
		"a typographic one":              {0, "", "You’ve hit your limit", Limit},
		"a server's word, a better text": {0, "server_error", "Connection to the API was lost (ECONNRESET)", Network},
		"a server's word alone":          {0, "server_error", "hm", Server},
		"forbidden":                      {403, "", "no", Auth},
		"bad gateway":                    {502, "", "no", Server},
		"an unknown text":                {0, "", "hm", Other},
		"a number other than a status":   {0, "", "wrote 429 lines", Other},
		"a file with such a name":        {0, "", "exit code of test_500.go", Other},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := p.faultOf(tt.status, tt.code, tt.message); got.Kind != tt.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestRolloutNamesModelAndReset(t *testing.T) {
	text := `{"type":"session_meta","payload":{"id":"x"}}
{"type":"turn_context","payload":{"model":"gpt-5.6-sol"}}
broken
{"type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":40,"resets_at":1795200000},"secondary":{"used_percent":100,"resets_at":1795300000}}}}
` + strings.Repeat("y", 3<<20) + `
{"type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":100.0,"window_minutes":300,"resets_at":1795201200},"secondary":{"used_percent":60,"resets_at":1795300000}}}}
`
	model, resets := Rollout(strings.NewReader(text))
	if model != "gpt-5.6-sol" || !resets.Equal(time.Unix(1795201200, 0)) {
		t.Errorf("got %q, %v", model, resets)
	}
	if model, resets := Rollout(strings.NewReader("")); model != "" || !resets.IsZero() {
		t.Errorf("got %q, %v", model, resets)
	}
}

// fuzz runs one parser on arbitrary input: it must not panic, its figures stay within bounds, and splitting the input
// into pieces does not change the result.
func fuzz(f *testing.F, format Format) {
	files, err := filepath.Glob("../testdata/agents/" + string(format) + "/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no corpus of %s: %v", format, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 5)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		whole, pieces := New(format, testClock()), New(format, testClock())
		_, _ = whole.Write(text)
		whole.Close()
		size = max(size%512, 1)
		for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, _ = pieces.Write(rest[:min(size, len(rest))])
		}
		pieces.Close()
		got := whole.Totals()
		if d := cmp.Diff(got, pieces.Totals()); d != "" {
			t.Errorf("in pieces of %d: %s", size, d)
		}
		for _, n := range []*int64{got.Tokens.Input, got.Tokens.Output, got.Tokens.CacheRead, got.Tokens.CacheWrite} {
			if n != nil && *n < 0 {
				t.Errorf("%d tokens", *n)
			}
		}
		if len(got.Denials) > maxEntries || len(got.Pending) > maxEntries || len(got.OtherLines) > maxOtherLines ||
			len(got.Text) > maxText {
			t.Errorf("too many entries or bytes are kept: %+v", got)
		}
		for _, e := range whole.Take() {
			for _, line := range e.Lines() {
				if strings.ContainsAny(line, "\x1b\x07\r\n") {
					t.Errorf("%q", line)
				}
			}
		}
	})
}

func FuzzClaude(f *testing.F)   { fuzz(f, Claude) }
func FuzzCodex(f *testing.F)    { fuzz(f, Codex) }
func FuzzGemini(f *testing.F)   { fuzz(f, Gemini) }
func FuzzOpenCode(f *testing.F) { fuzz(f, OpenCode) }
func FuzzQwen(f *testing.F)     { fuzz(f, Qwen) }
func FuzzPi(f *testing.F)       { fuzz(f, Pi) }
func FuzzGoose(f *testing.F)    { fuzz(f, Goose) }
func FuzzAider(f *testing.F)    { fuzz(f, Aider) }
func FuzzCrush(f *testing.F)    { fuzz(f, Crush) }

func FuzzRetryTime(f *testing.F) {
	for _, s := range []string{"resets 3pm (Europe/Berlin)", "try again in 1h30m", "reached|1795201200",
		"again at Nov 23rd, 2026 7:21 AM"} {
		f.Add(s)
	}
	now := testClock()()
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := RetryTime(text, now)
		if ok && (at.Before(now.Add(-time.Minute)) || at.After(now.Add(farthest))) || !ok && !at.IsZero() {
			t.Errorf("%v, %v", at, ok)
		}
	})
}

// A CLI that retries reports the end of a limit only once; a later retry without a time does not clear it.
func TestLimitTimeSurvivesLaterRetries(t *testing.T) {
	p := New(Claude, testClock())
	resets := testClock()().Add(time.Hour)
	fmt.Fprintf(p, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%d}}`+"\n", resets.Unix())
	fmt.Fprintln(p, `{"type":"system","subtype":"api_retry","error_status":429,"error":"rate_limit"}`)
	p.Close()
	if f := p.Totals().Passing; f == nil || f.Status != 429 || !f.RetryAt.Equal(resets) {
		t.Errorf("%+v, want the 429 with %v", f, resets)
	}
}
