package briefing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/planparse"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/runner/failures"
)

// These secrets have known formats. They are assembled here so that secret scanners do not report this file.
var (
	ghKey  = "ghp_" + strings.Repeat("Ab1", 12)
	awsKey = "AKIA" + "ABCDEFGHIJKLMNOP"
	pemKey = "-----BEGIN " + "RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEabcdefghijklmnop0123456789\n", 30) +
		"-----END " + "RSA PRIVATE KEY-----"
)

func TestBlockRedactsSecrets(t *testing.T) {
	in := rich()
	in.Refs = nil
	in.Limits = Limits{Tokens: 4000, RefLines: 100, RefLinesLeast: 50, Commits: 5, ProgressLines: 20, Similarity: 0.6}
	// the limit of the subject cuts this key in the middle
	in.Commits = []Commit{{Hash: strings.Repeat("b", 40), Batch: "2", Subject: strings.Repeat("x", 85) + " " + ghKey}}
	in.Progress = []string{"10:00 said " + awsKey}
	in.Failures = []failures.Pattern{{Title: "wiring " + ghKey, Type: "t", Frequency: 1, LastSeen: "2026-02-21",
		WinningFix: "set " + awsKey}}
	in.Earlier = []Earlier{{BatchSummary: runner.BatchSummary{Key: "1", Number: "1", Title: "Model", Attempts: 1,
		Reason: "it printed " + ghKey}}}
	in.Style = "Codebase style: " + awsKey
	in.Attempt, in.Digest = 2, "the test printed\n"+pemKey
	in.Unread = []string{"progress.txt: " + ghKey}
	in.Batch.Text = "Use " + awsKey + " in the example."
	c := Compose(in)
	for _, secret := range []string{"ghp_", "AKIA", "MIIE"} {
		if strings.Contains(c.Block, secret) {
			t.Errorf("%s is in the block:\n%s", secret, c.Block)
		}
	}
	for _, mark := range []string{"[redacted GITHUB_TOKEN]", "[redacted AWS_KEY]"} {
		if !strings.Contains(c.Block, mark) {
			t.Errorf("%s is not in the block:\n%s", mark, c.Block)
		}
	}
	if strings.Contains(c.Text(), "MIIE") || !strings.Contains(c.Text(), "[redacted PRIVATE_KEY]") {
		t.Errorf("the digest has the key:\n%s", c.Text())
	}
	if !strings.Contains(c.Text(), "Use "+awsKey) {
		t.Error("the user's text for the agent was changed")
	}
}

// Secrets are removed before a file is cut, because the first lines of a key alone are not recognized as a key.
func TestRefsAreRedactedBeforeCutting(t *testing.T) {
	r := newRepository(t)
	commit := r.commit("one", map[string]string{
		"key.pem": "first\n" + pemKey + "\nlast\n",
		"long.sh": strings.Repeat("x", refLineLength-8) + " " + ghKey + "\n",
		".env":    "A=" + awsKey + "\nB=2\n",
	})
	progress := filepath.Join(t.TempDir(), "progress.txt")
	if err := os.WriteFile(progress, []byte("10:00 it left\n"+pemKey+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, lines := range []int{5, 100} {
		in, err := Gather(t.Context(), Sources{
			Input: Input{
				Batch:  planparse.Batch{Number: "1", Key: "1", ContextRefs: []string{"key.pem", "long.sh", ".env"}},
				Limits: Limits{Tokens: 4000, RefLines: lines, RefLinesLeast: 2, ProgressLines: 9, Similarity: 0.6},
			},
			Repo: r.Repo, Commit: commit, Progress: progress,
		})
		if err != nil {
			t.Fatal(err)
		}
		block := Compose(in).Block
		for _, secret := range []string{"ghp_", "AKIA", "MIIE"} {
			if strings.Contains(block, secret) {
				t.Errorf("%d lines: %s is in the block:\n%s", lines, secret, block)
			}
		}
		for _, want := range []string{"first\n[redacted PRIVATE_KEY]\nlast\n", "A=[redacted AWS_KEY]\nB=2\n"} {
			if !strings.Contains(block, want) {
				t.Errorf("%d lines: %q is not in the block:\n%s", lines, want, block)
			}
		}
	}
}
