// Package ui draws on terminals: status lines, tables and a live board. It does not depend on plans; callers pass
// titles, rows and marks.
//
// Rules for all output:
//
//   - Results go to standard output, progress goes to standard error.
//   - A status line begins in lower case and has no full stop at its end.
//   - Colour is never the only sign of a meaning; without colour the words are the same.
//   - External text goes through [Sanitize] before it is shown, so that it cannot control the terminal.
//   - Widths are display widths: 漢字 takes four cells, and is cut and aligned accordingly.
//
// [Plain] writes lines to any writer. [Live] keeps a [Board] up to date below such lines; it needs a terminal, see
// [Interactive].
package ui

import (
	"os"

	"golang.org/x/term"
)

// Tone is the meaning of a piece of text, which decides its colour and icon.
type Tone string

// The tones.
const (
	Idle  Tone = "idle" // no state yet
	Busy  Tone = "busy"
	Good  Tone = "good"
	Warn  Tone = "warn"
	Bad   Tone = "bad"
	Muted Tone = "muted" // not relevant now
)

// Style describes the abilities of a terminal. The zero Style is plain text with Unicode icons.
type Style struct {
	Color bool // escape codes for colour and weight
	ASCII bool // this package uses only ASCII; text of callers does not change
}

var (
	// codes uses only the sixteen colours of the terminal's own theme, which are readable on its background.
	codes = map[Tone]string{Busy: "36", Good: "32", Warn: "33", Bad: "31", Muted: "2"}
	icons = map[Tone][2]string{
		Busy: {"●", "*"}, Good: {"✓", "+"}, Warn: {"!", "!"}, Bad: {"✗", "x"}, Muted: {"–", "-"},
	}
)

// Tone returns text in the colour of t.
func (s Style) Tone(t Tone, text string) string {
	if code, ok := codes[t]; ok {
		return s.sgr(code, text)
	}
	return text
}

// Bold returns text in bold.
func (s Style) Bold(text string) string { return s.sgr("1", text) }

// Faint returns text with less weight than its surroundings.
func (s Style) Faint(text string) string { return s.sgr("2", text) }

func (s Style) sgr(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Icon returns the one-cell sign of t, without colour.
func (s Style) Icon(t Tone) string {
	icon, ok := icons[t]
	if !ok {
		icon = [2]string{"·", "."}
	}
	return s.pick(icon[0], icon[1])
}

func (s Style) pick(unicode, ascii string) string {
	if s.ASCII {
		return ascii
	}
	return unicode
}

// Ellipsis returns the mark for cut text.
func (s Style) Ellipsis() string { return s.pick("…", "..") }

// Lookup finds an environment variable, as [os.LookupEnv] does.
type Lookup func(name string) (value string, found bool)

func (l Lookup) set(name string) bool {
	v, _ := l(name)
	return v != ""
}

// IsTerminal reports whether f is a terminal. A nil f is not.
func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// ColorAllowed reports whether colour may be written to f: it is a terminal that can show it, and neither
// NO_COLOR (https://no-color.org) nor CI is set.
func ColorAllowed(env Lookup, f *os.File) bool {
	t, _ := env("TERM")
	return IsTerminal(f) && t != "dumb" && !env.set("NO_COLOR") && !ci(env)
}

// Interactive reports whether a [Live] board makes sense: out is a terminal that can move its cursor, outside of CI.
func Interactive(env Lookup, in, out *os.File) bool {
	t, _ := env("TERM")
	if !IsTerminal(out) || t == "dumb" || ci(env) {
		return false
	}
	// The system stops a background job that changes the terminal's settings.
	return foreground(out) && (!IsTerminal(in) || foreground(in))
}

func ci(env Lookup) bool {
	v, _ := env("CI")
	return v != "" && v != "0" && v != "false"
}

// StyleFor returns the style for f in the given environment.
func StyleFor(env Lookup, f *os.File) Style {
	return Style{Color: ColorAllowed(env, f), ASCII: !unicodeLocale(env)}
}

// unicodeLocale follows the precedence of POSIX. If none of the three is set, it assumes Unicode.
func unicodeLocale(env Lookup) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v, _ := env(name); v != "" {
			return v != "C" && v != "POSIX"
		}
	}
	return true
}

// Size returns the width and height of the terminal f, or 80 by 24 if it has none.
func Size(f *os.File) (width, height int) {
	if f != nil {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}
