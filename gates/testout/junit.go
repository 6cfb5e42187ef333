package testout

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

type junitCase struct {
	Name     string     `xml:"name,attr"`
	Class    string     `xml:"classname,attr"`
	File     string     `xml:"file,attr"`
	Line     string     `xml:"line,attr"`
	Failures []junitBad `xml:"failure"`
	Errors   []junitBad `xml:"error"`
	Skipped  *struct{}  `xml:"skipped"`
}

type junitBad struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit reads a JUnit XML report. It counts test cases one by one, because the totals of different runners include
// different things.
func JUnit(r io.Reader) (Result, error) {
	var res Result
	dec := xml.NewDecoder(r)
	suite := false
	cases := newCases()
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Result{}, fmt.Errorf("read the JUnit report: %w", err)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "testsuite", "testsuites":
			suite = true
		case "testcase":
			var c junitCase
			if err := dec.DecodeElement(&c, &start); err != nil {
				return Result{}, fmt.Errorf("read the JUnit report: %w", err)
			}
			res.junit(c, cases)
		}
	}
	if !suite {
		return Result{}, errors.New("read the JUnit report: it contains no test suite")
	}
	res.Known, res.Exact, res.Cases = true, true, cases.list
	return res, nil
}

// Bun reads the JUnit report of `bun test`, which stores the describe block of a test as its class.
func Bun(r io.Reader, root string) (Result, error) {
	res, err := JUnit(r)
	named := func(class, name string) string {
		if class == "" {
			return name
		}
		return class + " > " + name
	}
	for i := range res.Cases {
		c := &res.Cases[i]
		c.Path = relative(root, c.Path)
		c.Name, c.Group = named(c.Group, c.Name), c.Path
	}
	for i := range res.Failures {
		f := &res.Failures[i]
		f.Path = relative(root, f.Path)
		f.Group, f.Line = f.Path, max(0, f.Line-1)
	}
	return res, err
}

func (r *Result) junit(c junitCase, all *cases) {
	bad := append(c.Failures, c.Errors...)
	one := Case{Name: c.Name, Group: c.Class, Path: c.File, Status: Passed}
	switch {
	case len(bad) > 0:
		one.Status = Failed
	case c.Skipped != nil:
		one.Status = Skipped
	}
	r.add(one.Status, 1)
	if len(bad) == 0 || !strings.Contains(bad[0].Message, "collection failure") {
		all.add(one)
	}
	if one.Status != Failed {
		return
	}
	name := c.Name
	if c.Class != "" {
		name = c.Class + "." + c.Name
	}
	f := Failure{Name: name, Path: c.File, Message: bad[0].Message,
		Build: strings.Contains(bad[0].Message, "collection failure")}
	f.ID = one.NodeID()
	if c.Line != "" {
		f.Line = number(c.Line) + 1 // pytest counts from 0 here
	}
	if f.Message == "" || f.Build {
		f.Message = strings.TrimSpace(f.Message + "\n" + phrase.LastLine(bad[0].Text)) // Python's errors end with it
	}
	// The text ends in the place of the failing line; the attributes name the head of the test.
	if p, line := pythonPlace(bad[0].Text); p != "" {
		f.Path, f.Line = p, line
	}
	f.Line = cmp.Or(f.Line, jvmLine(c.Class, bad[0].Text))
	f.Message = cmp.Or(f.Message, bad[0].Type)
	r.fail(f)
}

// pythonPlace finds the last line of a traceback outside of third-party packages. For a syntax error it returns the
// place at the end of the traceback.
func pythonPlace(text string) (file string, line int) {
	if m := pySyntax.FindAllStringSubmatch(text, -1); len(m) > 0 {
		last := m[len(m)-1]
		return last[1], number(last[2])
	}
	for _, m := range slices.Backward(pyPlace.FindAllStringSubmatch(text, -1)) {
		if !strings.Contains(m[1], "-packages/") && !pyLibrary.MatchString(m[1]) {
			return m[1], number(m[2])
		}
	}
	return "", 0
}

// jvmLine finds the line of a class in the stack of a Java exception.
func jvmLine(class, text string) int {
	for _, m := range jvmFrame.FindAllStringSubmatch(text, -1) {
		if of, _, _ := strings.Cut(m[1], "$"); class != "" && (of == class || strings.HasPrefix(class, of+"$")) {
			return number(m[2])
		}
	}
	return 0
}

var (
	pyPlace   = lazyre.New(`(?m)^(\S+\.py):(\d+): `)
	jvmFrame  = lazyre.New(`(?m)^\s*at (?:[\w.@-]+/)*([\w.$]+)\.[\w$<>]+\([\w.]+:(\d+)\)`)
	pySyntax  = lazyre.New(`(?m)^E\s+File "(.+)", line (\d+)$`)
	pyLibrary = lazyre.New(`/lib/python[\d.]+/`)
)
