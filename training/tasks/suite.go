package tasks

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/proc"
)

// suite is a test file and its tests that decide about a solution.
type suite struct {
	place
	names []string
}

// whole returns the names without subtests of Go tests that are not in the list. go runs a test with all its subtests,
// and one of these did not pass.
func (s suite) whole(lang gates.Language) []string {
	if lang != gates.LangGo {
		return s.names
	}
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool {
		top, _, _ := strings.Cut(name, "/")
		return !slices.Contains(s.names, top)
	})
}

// below returns the file as seen from the folder that it runs in.
func (s suite) below() string {
	if s.dir == "." {
		return s.file
	}
	return strings.TrimPrefix(s.file, s.dir+"/")
}

// withSource lets Python import packages of the folder src without installation.
func withSource(dir string, lang gates.Language, env []string) []string {
	if info, err := os.Stat(filepath.Join(dir, "src")); lang != gates.LangPython || err != nil || !info.IsDir() {
		return env
	}
	from := filepath.Join(dir, "src")
	if more := proc.Getenv(env, "PYTHONPATH"); more != "" {
		from += string(filepath.ListSeparator) + more
	}
	return append(slices.Clip(env), "PYTHONPATH="+from)
}

// quote makes a word of the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// templates holds the files of a task. It is a variable because embed knows no constants.
//
//go:embed templates/*.tmpl
var templates embed.FS

// rendered writes a file of a task with its template.
func rendered(name string, data any) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"quote": quote}).ParseFS(templates, "templates/*.tmpl")
	var b bytes.Buffer
	if err == nil {
		err = t.ExecuteTemplate(&b, name+".tmpl", data)
	}
	return b.Bytes(), err
}

// script is tests/test.sh: it copies the tests of the commit over the answer, removes those in gone, runs the judging
// ones and writes the reward. A test counts if its runner names it as passed and ends with 0.
func (w *work) script(gone []string) ([]byte, error) {
	var calls []string
	for i, s := range w.suites {
		call := listName(i) + " " + quote(s.dir)
		if w.lang == gates.LangGo {
			var top []string
			for _, name := range s.names {
				if !strings.Contains(name, "/") {
					top = append(top, regexp.QuoteMeta(name))
				}
			}
			call += " " + quote("./"+path.Dir(s.below())) + " " + quote("^("+strings.Join(top, "|")+")$")
		}
		calls = append(calls, call)
	}
	return rendered("test.sh", map[string]any{"Go": w.lang == gates.LangGo, "Gone": gone, "Calls": calls})
}

// lists returns the content of the lists of names, by file name.
func (w *work) lists() map[string]string {
	out := map[string]string{}
	for i, s := range w.suites {
		out[listName(i)] = strings.Join(s.names, "\n") + "\n"
	}
	return out
}

func listName(i int) string { return fmt.Sprintf("%d.tests", i+1) }
