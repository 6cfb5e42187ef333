package training

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// shortest is the minimal length of a value to search for. Shorter values occur in any text.
const shortest = 8

// Secret is a value that data must not contain, and its name in messages.
type Secret struct{ Name, Value string }

// Canary searches data for forbidden values: secrets that redaction should have removed, and planted markers. It also
// finds them across line breaks, in hexadecimal and in base64. It detects errors of the redactor, so it shares no code
// with it.
type Canary struct{ marks []mark }

type mark struct{ name, text string }

// NewCanary returns a canary for the given values. It ignores values of fewer than 8 characters.
func NewCanary(secrets []Secret) Canary {
	var c Canary
	for _, s := range secrets {
		value := squeezed(s.Value)
		if len(value) < shortest {
			continue
		}
		raw := []byte(strings.TrimSpace(s.Value))
		for _, text := range []string{value, hex.EncodeToString(raw),
			strings.TrimRight(base64.StdEncoding.EncodeToString(raw), "="),
			strings.TrimRight(base64.URLEncoding.EncodeToString(raw), "=")} {
			c.marks = append(c.marks, mark{s.Name, text})
		}
	}
	return c
}

// squeezed removes white space, so that a value is found across lines.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Find returns the name of a forbidden value in text.
func (c Canary) Find(text string) (name string, found bool) {
	if len(c.marks) == 0 {
		return "", false
	}
	text = squeezed(text)
	for _, m := range c.marks {
		if strings.Contains(text, m.text) {
			return m.name, true
		}
	}
	return "", false
}

// LeakError reports data that contains a forbidden value. It does not contain the value itself.
type LeakError struct {
	Name    string // name of the value
	Example string // id of the example
	Place   string // part of the example
}

// Error names the example and the value, but does not quote the value.
func (e *LeakError) Error() string {
	return fmt.Sprintf("example %s holds %s in its %s; nothing was written", e.Example, e.Name, e.Place)
}

// Check returns a [LeakError] if an example contains a forbidden value.
func (c Canary) Check(e Example) error {
	if len(c.marks) == 0 {
		return nil
	}
	for _, p := range e.texts() {
		if name, found := c.Find(*p.text); found {
			return &LeakError{Name: name, Example: e.ID, Place: p.name}
		}
	}
	if line, err := json.Marshal(e.Origin); err == nil {
		if name, found := c.Find(string(line)); found {
			return &LeakError{Name: name, Example: e.ID, Place: "origin"}
		}
	}
	return nil
}

// Scan checks a file of examples from any source. name is its name in errors.
func (c Canary) Scan(name string, r io.Reader) error {
	n := 0
	for e, err := range Read(name, r) {
		n++
		if err == nil {
			err = c.Check(e)
		}
		if err != nil {
			return fmt.Errorf("%s, example %d: %w", name, n, err)
		}
	}
	return nil
}

// part is a named text of an example.
type part struct {
	name string
	text *string
}

// texts returns all foreign text in an example.
func (e *Example) texts() []part {
	var out []part
	for i := range e.Prompt {
		out = append(out, part{"prompt", &e.Prompt[i].Content})
	}
	out = append(out, part{"completion", &e.Completion}, part{"rejected answer", &e.Rejected},
		part{"origin", &e.Origin.Model}, part{"origin", &e.Origin.Repo})
	for i := range e.Signals {
		out = append(out, part{"signals", &e.Signals[i].Note})
	}
	for i := range e.Origin.Files {
		out = append(out, part{"origin", &e.Origin.Files[i].Path})
	}
	return out
}

// Guard processes each example before it is written: it removes secrets, searches for remaining ones, and checks the
// example.
type Guard struct {
	Redact func(string) string // removes secrets
	Canary Canary
}

// Seal returns e without secrets and mail addresses, and with its id. It returns a [LeakError] if a secret remains, and another error if
// the example is invalid.
func (g Guard) Seal(e Example) (Example, error) {
	e.Prompt, e.Signals = slices.Clone(e.Prompt), slices.Clone(e.Signals)
	e.Origin.Files = slices.Clone(e.Origin.Files)
	for _, p := range e.texts() {
		*p.text = HideAddresses(g.Redact(*p.text))
	}
	e.ID = e.Sum()
	if err := e.check(e.ID); err != nil {
		return e, err
	}
	return e, g.Canary.Check(e)
}
