// Package lazyre provides regular expressions that are compiled at their first use. Otherwise a program with hundreds
// of them would compile all at each start.
package lazyre

import (
	"regexp"
	"strings"
	"sync"
)

// Regexp is a [regexp.Regexp] that is compiled at its first use. It is safe for concurrent use.
type Regexp struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

// New returns the regular expression of text, for a package variable. An invalid one panics at its first use; a test
// in cmd/runplan/app compiles every one in the sources. New is small enough for the compiler to evaluate at build time,
// so it costs nothing at start-up.
func New(text string) *Regexp { return &Regexp{text: text} }

// Re returns the compiled regular expression.
func (r *Regexp) Re() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.text) })
	return r.re
}

// String returns the text of the regular expression.
func (r *Regexp) String() string { return r.text }

// UnmarshalText reads the regular expression from a table of data. Line breaks, and spaces at the begin of a line, are
// not part of the expression. The test of the table compiles it.
func (r *Regexp) UnmarshalText(text []byte) error {
	for line := range strings.SplitSeq(string(text), "\n") {
		r.text += strings.TrimLeft(line, " ")
	}
	return nil
}

// The methods below are those of [regexp.Regexp].

func (r *Regexp) MatchString(s string) bool                  { return r.Re().MatchString(s) }
func (r *Regexp) Match(b []byte) bool                        { return r.Re().Match(b) }
func (r *Regexp) FindString(s string) string                 { return r.Re().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int             { return r.Re().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string       { return r.Re().FindStringSubmatch(s) }
func (r *Regexp) FindStringSubmatchIndex(s string) []int     { return r.Re().FindStringSubmatchIndex(s) }
func (r *Regexp) FindAllString(s string, n int) []string     { return r.Re().FindAllString(s, n) }
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.Re().FindAllStringIndex(s, n) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte             { return r.Re().FindSubmatch(b) }
func (r *Regexp) ReplaceAllString(s, with string) string     { return r.Re().ReplaceAllString(s, with) }
func (r *Regexp) Split(s string, n int) []string             { return r.Re().Split(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.Re().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.Re().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.Re().ReplaceAllStringFunc(s, with)
}
