package gates

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/planted"
	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	pytestSelects = lazyre.New(`(?:^|[\s"'=\[,])-[km]\b|--deselect|collect_ignore|python_classes`)
	pytestEnds    = lazyre.New(`cov-fail-under|fail_under|pytest_sessionfinish|pytest_unconfigure|pytest_terminal_summary`)
)

// pythonPair writes a pair of tests, and adds it to the bed.
func (b *bed) pythonPair(file, place, unsure string, like func(testout.Case) bool) string {
	fail, pass := b.pair("test_")
	b.plants = append(b.plants, plant{place: place, fail: fail, pass: pass, like: like, unsure: unsure})
	return planted.Text(file, "WORD", b.word+fmt.Sprint(len(b.plants)), "OWN", b.word, "FAIL", fail, "PASS", pass)
}

// plantPytest plants tests in each of the folders, with the file names that are usual there. If pytest looks only for a
// fixed name, it appends them to the file of that name. only lists the requested tests; none runs all.
func plantPytest(root string, folders map[string]string, only []string) recipe {
	return func(w *Look, r *testRun, b *bed) error {
		globs := pytestFiles(w.subject.Dir, root)
		config := pytestTexts(w.subject.Dir, root, folders)
		unsure := ""
		if pytestSelects.MatchString(config) {
			unsure = "the configuration of pytest selects tests and omits the planted ones"
		}
		functions := unsure
		if strings.Contains(config, "python_functions") {
			functions = "python_functions is set in the configuration of pytest"
		}
		b.masks = pytestEnds.MatchString(config)
		r.shown = slices.Clone(r.args)
		r.args = append(r.args, "--maxfail=0")
		for _, rel := range sortedKeys(folders) {
			if len(only) > 0 && !slices.ContainsFunc(only, func(id string) bool {
				file, _, _ := strings.Cut(id, "::")
				return path.Dir(file) == rel
			}) {
				continue
			}
			// pytest refuses two files of the same name in folders that are no packages
			module := fmt.Sprintf("%s_%d", b.word, len(b.plants))
			name, glob := folders[rel], path.Base(globOf(globs, path.Join(rel, folders[rel])))
			appended := !strings.Contains(glob, "*") || strings.ContainsAny(glob, "?[")
			if !appended {
				name = strings.ReplaceAll(strings.Replace(glob, "*", module, 1), "*", "")
			}
			file := path.Join(rel, name)
			like := func(c testout.Case) bool {
				if appended {
					return c.Path == file
				}
				return path.Dir(c.Path) == rel && Match([]string{glob}, path.Base(c.Path))
			}
			text := b.pythonPair("unittest.py", path.Join(root, rel), unsure, like)
			text += "\n\n" + b.pythonPair("pytest.py", path.Join(root, rel), functions, like)
			if appended {
				text = "\n\n" + text
			}
			if err := b.sow(w, path.Join(root, file), text); err != nil {
				return err
			}
			switch {
			case len(only) > 0 && appended:
				functions := b.plants[len(b.plants)-1]
				for _, name := range []string{fmt.Sprint("Test", b.word, len(b.plants)-1), functions.fail, functions.pass} {
					r.args = append(r.args, file+"::"+name)
				}
			case len(only) > 0:
				r.args = append(r.args, file)
			}
		}
		return nil
	}
}

// pytestTexts returns all that may configure pytest in the project.
func pytestTexts(dir, root string, folders map[string]string) string {
	names := []string{"pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", ".coveragerc", "conftest.py"}
	for _, rel := range sortedKeys(folders) {
		if rel != "." {
			names = append(names, path.Join(rel, "conftest.py"))
		}
	}
	return readTexts(dir, root, names...)
}

// plantUnittest plants tests in the folders that one call of discovery enters.
func plantUnittest(root, top, pattern string, folders []string) recipe {
	return func(w *Look, _ *testRun, b *bed) error {
		for _, rel := range folders {
			unsure := ""
			for at := rel; ; at = path.Dir(at) {
				if strings.Contains(readText(w.subject.Dir, path.Join(root, at), "__init__.py"), "load_tests") {
					unsure = "load_tests selects the tests of the folder and omits the planted ones"
				}
				if at == top || at == "." {
					break
				}
			}
			like := func(c testout.Case) bool { return path.Dir(c.Path) == rel }
			text := b.pythonPair("unittest.py", path.Join(root, rel), unsure, like)
			if err := b.sow(w, path.Join(root, rel, strings.Replace(pattern, "*", "_"+b.word, 1)), text); err != nil {
				return err
			}
		}
		return nil
	}
}
