package agentsmoke

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The CLIs run only with make agents-smoke. Without them, this test detects that a message of runplan was reworded.
func TestExpectedWordsMatchMessages(t *testing.T) {
	var source strings.Builder
	for _, dir := range []string{"agents", "runner", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(strings.TrimSpace(line), "//") {
					source.WriteString(line)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	parts := regexp.MustCompile(`: |\$?[0-9][0-9.]*|\$`) // values stand between the words, and some messages are joined
	for _, s := range situations() {
		wants := []want{s.want}
		for _, w := range s.except {
			wants = append(wants, w)
		}
		answer := ""
		if s.script != nil {
			answer = s.script(1).text
		}
		for _, w := range wants {
			for _, words := range w.words {
				if answer != "" && strings.Contains(answer, words) {
					continue // the words of the model
				}
				for _, part := range parts.Split(words, -1) {
					if !strings.Contains(source.String(), strings.TrimSpace(part)) {
						t.Errorf("%s: no message of runplan has the words %q", s.name, part)
					}
				}
			}
		}
	}
}
