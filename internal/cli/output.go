package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner/local"
)

// ExitStatus renders the exit codes at the end of a command's help.
func ExitStatus(codes ...int) string {
	var b strings.Builder
	b.WriteString("\n\nExit status:\n")
	for _, c := range codes {
		for _, e := range ExitCodes() {
			if e.Code != c {
				continue
			}
			if c == ExitInterrupted && !slices.Contains(codes, ExitLimit) {
				e.Meaning, _, _ = strings.Cut(e.Meaning, ";") // no run to resume
			}
			fmt.Fprintf(&b, "  %3d  %s\n", e.Code, e.Meaning)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// Short shortens a commit id.
func Short(commit string) string { return commit[:min(len(commit), 10)] }

// ListOf joins the items of a list for a sentence.
func ListOf(names []string, most int) string {
	for i := range names {
		names[i] = ui.Sanitize(names[i])
	}
	return phrase.Few(names, most)
}

// TokensOf returns a number of tokens as text, or "unknown".
func TokensOf(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return TokenText(*n, true)
}

// TokenText returns a number of tokens as text, or "unknown" if known is false.
func TokenText(n int64, known bool) string {
	if !known {
		return "unknown"
	}
	return strconv.FormatInt(n, 10)
}

// Table prints rows under a header.
func Table(w io.Writer, header []string, rows [][]string) error { return ui.Table(w, header, rows) }

// AsJSON prints v as indented JSON. A nil list is an empty one.
func AsJSON(w io.Writer, v any) error {
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
		v = []any{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// PrintLeftovers prints the leftovers. With list, nothing was removed.
func (a *App) PrintLeftovers(found []local.Leftover, list, json bool) error {
	if json {
		return AsJSON(a.Stdout, append([]local.Leftover{}, found...))
	}
	var rows [][]string
	for _, x := range found {
		what := "kept"
		if x.Remove {
			what = map[bool]string{true: "can go", false: "removed"}[list]
		}
		rows = append(rows, []string{what, x.Kind, x.Name, fmt.Sprintf("%d KiB", x.Bytes>>10), x.Why})
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.Stdout, "nothing to remove")
		return nil
	}
	return Table(a.Stdout, []string{"", "what", "name", "size", "why"}, rows)
}

// Command groups in the order in which the help shows them, which is the order in which users need them.
const (
	GroupRun   = "Run plans"
	GroupLook  = "Before a run"
	GroupJudge = "Judge code"
	GroupKnow  = "Know and learn"
	GroupTalk  = "Talk to runplan"
	GroupTrust = "Decide what it may do"
	GroupSetup = "Set up and maintain"
)
