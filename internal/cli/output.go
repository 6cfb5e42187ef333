package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
	"syscall"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/runner/local"
)

// ListOf joins the items of a list for a sentence.
func ListOf(names []string, most int) string {
	return phrase.Few(lists.Map(names, ui.Sanitize), most)
}

// TokensOf returns a number of tokens as text, or "unknown".
func TokensOf(n *int64) string { return phrase.Known("%d", n) }

// Warn prints a warning on standard error.
func (a *App) Warn(text string) { fmt.Fprintf(a.Stderr, "warning: %s\n", ui.Sanitize(text)) }

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

// Print prints v as JSON if the user wants that, else has text print it. Standard output remembers the write errors of
// text.
func (a *App) Print(v any, text func()) error {
	if a.JSON {
		return AsJSON(a.Stdout, v)
	}
	text()
	return nil
}

// PrintTable is [App.Print] with a table. Instead of an empty table it prints none, if that is given.
func (a *App) PrintTable(v any, none string, header []string, rows ui.Rows) error {
	return a.Print(v, func() {
		if len(rows) == 0 && none != "" {
			fmt.Fprintln(a.Stdout, none)
			return
		}
		ui.Table(a.Stdout, header, rows)
	})
}

// PrintLeftovers prints the leftovers. With list, nothing was removed.
func (a *App) PrintLeftovers(found []local.Leftover, list bool) error {
	var rows ui.Rows
	for _, x := range found {
		what := "kept"
		if x.Remove {
			what = map[bool]string{true: "can go", false: "removed"}[list]
		}
		rows.Add(what, x.Kind, x.Name, fmt.Sprintf("%d KiB", x.Bytes>>10), x.Why)
	}
	return a.PrintTable(found, "nothing to remove", []string{"", "what", "name", "size", "why"}, rows)
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

// Output is standard output that remembers its first write error. A truncated output must not look complete, and few
// callers check the errors of printing.
type Output struct {
	To   io.Writer
	wrap *ui.Wrapper // writes to To

	mu  sync.Mutex
	err *outputError
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.wrap.Write(p)
	if err == nil {
		return n, nil
	}
	failed := &outputError{err}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && !errors.Is(err, syscall.EPIPE) { // on EPIPE the reader has read enough
		o.err = failed
	}
	return n, failed
}

func newOutput(to io.Writer) *Output {
	return &Output{To: to, wrap: wrapper(to)}
}

// wrapper returns a writer to w that breaks long lines between words if w is a terminal.
func wrapper(w io.Writer) *ui.Wrapper {
	f := fileOf(w)
	return &ui.Wrapper{To: w, Width: func() int { return ui.Columns(f) }}
}

// Columns returns the width of the terminal that the output goes to, or 0.
func (o *Output) Columns() int { return o.wrap.Columns() }

// outcome returns err, or else the write error.
func (o *Output) outcome(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && o.err != nil {
		return o.err
	}
	return err
}

// outputError is a write error of standard output.
type outputError struct{ err error }

func (e *outputError) Error() string { return "write to standard output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// Display returns the style of standard output, and its width, which is 0 without a terminal.
func (a *App) Display() (ui.Style, int) {
	out := fileOf(a.Stdout)
	return ui.StyleFor(a.Getenv, out), ui.Columns(out)
}

// StderrFile returns the file of standard error, or nil if it is not a file.
func (a *App) StderrFile() *os.File { return fileOf(a.Stderr) }

func fileOf(w io.Writer) *os.File {
	switch to := w.(type) {
	case *os.File:
		return to
	case *Output:
		return fileOf(to.To)
	case *ui.Wrapper:
		return fileOf(to.To)
	}
	return nil
}
