package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/runner"
)

// The page of a batch shows its receipt only if it is the one of the journal.
func TestBatchPageRefusesChangedReceipt(t *testing.T) {
	b := newBook(t, team(1))
	file := b.layout.Receipt(b.run, "1")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"head":"c0ffee","gates":[{"gate":"tests","status":"pass"}]}`
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	b.add(runner.Event{Kind: runner.Merged, Command: "1/r1-c3/merge", Batch: "1", Attempt: 1, Outcome: runner.OutcomeOK,
		Commit: "c0ffee", Receipt: b.layout.Rel(file), Fingerprint: checksum.SHA256(text)})
	h := b.pages(Waiting{})
	page := "/run/" + b.run + "/batch/1"
	if html := get(t, h, "GET", page, 200); !strings.Contains(html, "tests pass") {
		t.Errorf("the page does not show the receipt:\n%s", html)
	}
	write(strings.Replace(text, "tests", "forged", 1))
	html := get(t, h, "GET", page, 200)
	if strings.Contains(html, "forged") || !strings.Contains(html, "it was changed after the merge") {
		t.Errorf("the page shows a changed receipt:\n%s", html)
	}
}
