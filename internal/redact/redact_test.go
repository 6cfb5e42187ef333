package redact

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestKnownValuesAreReplacedByName(t *testing.T) {
	r := New([]string{
		"GITHUB_TOKEN=tok-123456789", "LONGER_TOKEN=tok-123456789-and-more", "DB_PASSWORD=p@ss w/rd\"1",
		"SHORT_TOKEN=abc", "PATH=/usr/bin:/usr/local/bin", "GOPRIVATE=github.com/acme/*", "MAX_TOKENS=10000000",
		"GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json", "SSH_AUTH_SOCK=/tmp/ssh-agent.sock",
		"MULTI_SECRET=first line of it\nsecond line of it",
	})
	tests := map[string]struct{ in, want string }{
		"in a text":            {"x tok-123456789 y", "x [redacted GITHUB_TOKEN] y"},
		"the longer one first": {"tok-123456789-and-more", "[redacted LONGER_TOKEN]"},
		"escaped as in JSON":   {`{"a":"p@ss w/rd\"1"}`, `{"a":"[redacted DB_PASSWORD]"}`},
		"escaped as in a URL":  {"q=p%40ss+w%2Frd%221", "q=[redacted DB_PASSWORD]"},
		"in base64":            {"dG9rLTEyMzQ1Njc4OQ==", "[redacted GITHUB_TOKEN]"},
		"one line of several":  {"it said: second line of it", "it said: [redacted MULTI_SECRET]"},
		"short values stay":    {"abc", "abc"},
		"paths and patterns stay": {"/usr/bin github.com/acme/* /home/me/key.json",
			"/usr/bin github.com/acme/* /home/me/key.json"},
		"numbers and sockets stay":      {"10000000 /tmp/ssh-agent.sock", "10000000 /tmp/ssh-agent.sock"},
		"nothing to hide, nothing done": {"plain text", "plain text"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, r.String(tt.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSecretShapesAreReplaced(t *testing.T) {
	fill := strings.Repeat("Ab1", 20)
	tests := map[string]struct{ in, want string }{
		"github":            {"ghp_" + fill, "[redacted GITHUB_TOKEN]"},
		"openai, anthropic": {"key sk-ant-" + fill + ".", "key [redacted ANTHROPIC_KEY]."},
		"aws":               {"AKIA" + "ABCDEFGHIJKLMNOP", "[redacted AWS_KEY]"},
		"slack":             {"xoxb-" + "12345678-abc", "[redacted SLACK_TOKEN]"},
		"stripe webhook":    {"whsec_" + fill, "[redacted STRIPE_KEY]"},
		"google client":     {"GOCSPX-" + fill, "[redacted GOOGLE_KEY]"},
		"pypi":              {"pypi-" + fill, "[redacted PYPI_TOKEN]"},
		"jwt":               {"eyJ" + fill + ".eyJ" + fill + ".sig", "[redacted JWT]"},
		"pem": {"a\n-----BEGIN " + "RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb",
			"a\n[redacted PRIVATE_KEY]\nb"},
		"pem in JSON": {`"-----BEGIN ` + `PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n"`,
			`"[redacted PRIVATE_KEY]\n"`},
		"pem without end":        {"-----BEGIN " + "PRIVATE KEY-----\nMIIabc\n", "[redacted PRIVATE_KEY]\n"},
		"url":                    {"clone https://me:hunter2@host/x", "clone https://me:[redacted URL_PASSWORD]@host/x"},
		"url without user":       {"redis://:hunter2@host", "redis://:[redacted URL_PASSWORD]@host"},
		"header":                 {"Authorization: Bearer abcdefgh12345", "Authorization: Bearer [redacted AUTHORIZATION]"},
		"a port is not a secret": {"http://localhost:8080/a@b", "http://localhost:8080/a@b"},
		"a word is not a secret": {"the task-runner-with-a-long-name-here", "the task-runner-with-a-long-name-here"},
	}
	r := New(nil)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := r.String(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if again := r.String(got); again != got {
				t.Errorf("a second call changes the result to %q", again)
			}
		})
	}
}

func TestAgentEnv(t *testing.T) {
	got := AgentEnv([]string{
		"PATH=/old", "HOME=/h", "LC_ALL=C", "GITHUB_TOKEN=x", "AWS_SECRET_ACCESS_KEY=x", "GOPRIVATE=a",
		"GOOGLE_API_KEY=x", "NODE_AUTH_TOKEN=x", "NODE_ENV=test", "GIT_DIR=/repo/.git", "GIT_INDEX_FILE=x",
		"GIT_AUTHOR_NAME=me", "https_proxy=p", "PATH=/new", "RUNPLAN_RUN=outer", "ANTHROPIC_API_KEY=a",
		"MY_VAR=1", "MY_TOKEN=2", "broken", "=C:=x",
	}, []string{"ANTHROPIC_API_KEY", "MY_*", "GIT_DIR"})
	want := []string{
		"HOME=/h", "LC_ALL=C", "GOPRIVATE=a", "NODE_ENV=test", "GIT_AUTHOR_NAME=me", "https_proxy=p",
		"PATH=/new", "ANTHROPIC_API_KEY=a", "MY_VAR=1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestClean(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"text, tab and newline stay": {"a\tb\nä✓", "a\tb\nä✓"},
		"colours":                    {"\x1b[1;31mred\x1b[0m", "red"},
		"cursor":                     {"a\x1b[2J\x1b[Hb", "ab"},
		"title with BEL":             {"\x1b]0;evil\x07x", "x"},
		"link with ST":               {"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		"a title without an end does not swallow the next line": {"\x1b]0;evil\nnext", "0;evil\nnext"},
		"character set":         {"\x1b(Bx", "x"},
		"C1":                    {"\u009b31mred\u0085", "red"},
		"DCS":                   {"\x1bPq#0\x1b\\x", "x"},
		"backspace, BEL and CR": {"a\bb\ac\rd", "abcd"},
		"direction":             {"if x\u202e) {", "if x) {"},
		"not UTF-8":             {"a\xffb", "a\uFFFDb"},
		"ESC at the end":        {"a\x1b", "a"},
		"CSI at the end":        {"a\x1b[3", "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Clean(tt.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31mx", "\x1b]0;t\x07", "\u009b1m", "\xff\x1b", "\x1b\x1b[[m",
		"\x1bP\x1b\x1b\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) || len(got) > 3*len(s) {
			t.Fatalf("Clean(%q) = %q", s, got)
		}
		for _, r := range got {
			if Unseen(r) {
				t.Fatalf("Clean(%q) = %q keeps %U", s, got, r)
			}
		}
		if again := Clean(got); again != got {
			t.Fatalf("Clean(%q) = %q, again %q", s, got, again)
		}
		if strings.Count(got, "\n") > strings.Count(s, "\n") {
			t.Fatalf("Clean(%q) = %q has more lines", s, got)
		}
	})
}

// A value of at least eight characters is hidden; a shorter one could occur in any text.
func TestMinimumSecretLength(t *testing.T) {
	r := New([]string{"A_TOKEN=abcdefg", "B_TOKEN=hijklmno"})
	if got := r.String("abcdefg hijklmno"); got != "abcdefg [redacted B_TOKEN]" {
		t.Error(got)
	}
}
