package gates

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/tables"
)

// ErrHindered is wrapped by an error of a gate if the cause is outside of the code: a missing program or package, no
// network, no permission.
var ErrHindered = errors.New("the tools are not ready")

// notReady is an [ErrHindered] that says itself what is missing.
type notReady struct{ error }

func (notReady) Is(target error) bool { return target == ErrHindered }

// hindrance is a sign of a problem with tools.
type hindrance struct {
	Name      string         // "" if only [Look.hindered] asks for it
	Sign      *lazyre.Regexp // its first group with text is the missing thing
	What, Fix string         // with %s for the missing thing
}

//go:embed hindrances.toml
var hindranceTable string

// hindrances lists the messages of shells, package managers and build tools that could not work. A line counts only
// if no test failed by name and no file of the tree failed to compile.
var hindrances = sync.OnceValue(func() []hindrance {
	var t struct{ Hindrance []hindrance }
	tables.Read(hindranceTable, &t)
	return t.Hindrance
})

// hasSign reports whether a text has the sign of the hindrance with a name, which must be in the table.
func hasSign(text, name string) bool {
	at := slices.IndexFunc(hindrances(), func(h hindrance) bool { return h.Name == name })
	return hindrances()[at].Sign.MatchString(text)
}

// hindered reports whether a program failed for reasons outside of the code. Such an error stops a batch as a failure
// does, but is not blamed on the code.
func (w *Look) hindered(out ran, failures []testout.Failure) error {
	if out.ok() || slices.ContainsFunc(failures, func(f testout.Failure) bool { return w.ofCode(f) }) {
		return nil
	}
	text := out.text
	if out.shown != "" {
		text += "\n" + out.shown
	}
	if err := Hindrance(text, out.how()); err != nil {
		return err
	}
	if out.exit == 126 || out.exit == 127 {
		return fmt.Errorf("%w: %s: a program could not be started: %s", ErrHindered, out.how(), lastTelling(text))
	}
	return nil
}

// Hindrance returns an [ErrHindered] if the output of a program that failed says that tools are missing. how says how
// the program ended.
func Hindrance(text, how string) error {
	for _, h := range hindrances() {
		m := h.Sign.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		what := ""
		for _, g := range m[1:] {
			what = cmp.Or(what, phrase.Cut(strings.TrimSpace(g), 200))
		}
		said := func(format string) string {
			if strings.Contains(format, "%s") {
				return fmt.Sprintf(format, what)
			}
			return format
		}
		return fmt.Errorf("%w: %s (%s); %s", ErrHindered, said(h.What), how, said(h.Fix))
	}
	return nil
}

// ofCode recognizes a failure of the code: a test that failed by name, or a file of the tree that does not compile.
func (w *Look) ofCode(f testout.Failure) bool {
	if !f.Build {
		return f.Name != "" && !scriptName.MatchString(f.Name)
	}
	at := w.Rel("", f.Path)
	return f.Path != "" && (at == "" || exists(w.subject.Dir, ".", at)) && !hasSign(f.Message, "go offline") &&
		!hasSign(f.Message, "no network")
}

// scriptName matches the name that [testout.Shell] gives to a failure of a script itself.
var scriptName = lazyre.New(`^\S+\.(?:sh|bash|bats)$`)
