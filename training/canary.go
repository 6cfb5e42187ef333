package training

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// shortest is the length from which a value is looked for; shorter ones occur in any text.
const shortest = 8

// Secret is a value that may not be in any data, with what messages call it.
type Secret struct{ Name, Value string }

// Canary looks for values that must not be in data: secrets that ought to have been taken out, and marks that were put
// where they must never come out of. It sees them also where their lines were broken, and in hexadecimal and base64. It is
// what tells that redaction has a hole, so it shares nothing with that.
type Canary struct{ marks []mark }

type mark struct{ name, text string }

// NewCanary looks for the given values. Those of fewer than 8 characters are left out.
func NewCanary(secrets []Secret) Canary {
	var c Canary
	for _, s := range secrets {
		value := squeezed(s.Value)
		if len(value) < shortest {
			continue
		}
		raw := []byte(strings.TrimSpace(s.Value))
		for _, text := range []string{value, hex.EncodeToString(raw), strings.TrimRight(base64.StdEncoding.EncodeToString(raw), "="), strings.TrimRight(base64.URLEncoding.EncodeToString(raw), "=")} {
			c.marks = append(c.marks, mark{s.Name, text})
		}
	}
	return c
}

// squeezed takes out white space, so that a value is found across lines.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Find returns the name of a value that is in text.
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

// LeakError says that data holds a value that must not be in it. It does not tell the value.
type LeakError struct {
	Name    string // of the value
	Example string // id of the example
	Place   string // where in it
}

// Error names the example and the value's name.
func (e *LeakError) Error() string {
	return fmt.Sprintf("example %s holds %s in its %s; nothing was written", e.Example, e.Name, e.Place)
}

// Check returns a [LeakError] for an example that holds one of the values.
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

// Scan looks through a file of examples, whoever wrote it. name is what errors call the file.
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

// part is one text of an example, with its name.
type part struct {
	name string
	text *string
}

// texts are all parts of e that hold words of others.
func (e *Example) texts() []part {
	var out []part
	for i := range e.Prompt {
		out = append(out, part{"prompt", &e.Prompt[i].Content})
	}
	out = append(out, part{"completion", &e.Completion}, part{"rejected answer", &e.Rejected}, part{"origin", &e.Origin.Model}, part{"origin", &e.Origin.Repo})
	for i := range e.Signals {
		out = append(out, part{"signals", &e.Signals[i].Note})
	}
	for i := range e.Origin.Files {
		out = append(out, part{"origin", &e.Origin.Files[i].Path})
	}
	return out
}
