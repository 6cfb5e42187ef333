package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/phrase"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
	Out      string      `xml:"system-out,omitempty"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	File    string     `xml:"file,attr,omitempty"`
	Line    int        `xml:"line,attr,omitempty"`
	Time    string     `xml:"time,attr"`
	Failure *junitNote `xml:"failure"`
	Error   *junitNote `xml:"error"`
	Skipped *junitNote `xml:"skipped"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes r as JUnit XML: a suite for each gate, with a case for each blocking finding and one for the gate
// itself. Warnings are in the suite's output, because JUnit readers do not know them.
func JUnit(w io.Writer, r Run) error {
	all := junitSuites{Name: "runplan gate"}
	var total float64
	for _, rep := range r.Verdict.Reports {
		s := junitOf(rep)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
		total += rep.Duration.Seconds()
		all.Suites = append(all.Suites, s)
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

func junitOf(rep gates.Report) junitSuite {
	class := "runplan." + clean(rep.Gate)
	s := junitSuite{Name: clean(rep.Gate), Time: seconds(rep.Duration.Seconds())}
	whole := junitCase{Name: clean(rep.Gate), Class: class, Time: s.Time}
	var out strings.Builder
	if rep.Note != "" {
		out.WriteString(clean(rep.Note) + "\n")
	}
	if t := rep.Tests; t != nil {
		fmt.Fprintf(&out, "tests: %d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
	}
	switch rep.Status {
	case gates.Skipped:
		whole.Skipped = &junitNote{Message: clean(rep.Note)}
		s.Skipped++
	case gates.Errored:
		whole.Error = &junitNote{Message: clean(rep.Note), Type: "could-not-look", Text: clean(rep.Output)}
		s.Errors++
	case gates.Fail:
		for _, f := range rep.Findings {
			if f.Severity != gates.Error {
				continue
			}
			name := f.Test
			if name == "" {
				name = f.Rule
				if at := phrase.Place(f.Path, f.Line, f.Col); at != "" {
					name += " " + at
				}
			}
			text := message(f)
			if at := phrase.Place(f.Path, f.Line, f.Col); at != "" {
				text = at + ": " + text
			}
			s.Cases = append(s.Cases, junitCase{
				Name: clean(name), Class: class, File: clean(f.Path), Line: f.Line, Time: "0",
				Failure: &junitNote{Message: clean(f.Message), Type: clean(f.Rule), Text: clean(text)},
			})
			s.Failures++
		}
	}
	for _, f := range rep.Findings {
		if f.Severity != gates.Error || rep.Status != gates.Fail {
			fmt.Fprintf(&out, "%s: %s %s: %s\n", clean(phrase.Place(f.Path, f.Line, f.Col)), f.Severity, clean(f.Rule), clean(message(f)))
		}
	}
	if rep.Status != gates.Fail {
		s.Cases = append(s.Cases, whole)
	}
	s.Tests, s.Out = len(s.Cases), out.String()
	return s
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// clean removes characters that XML does not allow.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= 0x20 && r < 0xfffe && (r < 0xd800 || r > 0xdfff) || r >= 0x10000 {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\ufffd"))
}
