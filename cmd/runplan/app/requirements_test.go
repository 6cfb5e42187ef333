package app

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// proofs resolves the proofs that docs/requirements.md names, in the tree at root.
type proofs struct {
	root    string
	folders map[string]map[string]bool // folder → its tests and fuzz targets
	targets string
}

func newProofs(root string) (*proofs, error) {
	p := &proofs{root: root, folders: map[string]map[string]bool{}}
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	p.targets = string(text)
	fn := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)
	return p, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(rel)
		if p.folders[folder] == nil {
			p.folders[folder] = map[string]bool{}
		}
		for _, m := range fn.FindAllStringSubmatch(string(src), -1) {
			p.folders[folder][m[1]] = true
		}
		return nil
	})
}

var (
	proofRemark  = regexp.MustCompile(`\s*\([^)]*\)`)
	proofTest    = regexp.MustCompile(`^(?:([\w/-]+)\.)?((?:Test|Fuzz)\w*)(?:/[\w/]+)?$`)
	proofTests   = regexp.MustCompile(`^([\w/-]+) tests$`)
	proofScript  = regexp.MustCompile(`^(ollama )?scripts? (\S+)$`)
	proofName    = regexp.MustCompile(`^[\w*]+$`)
	proofCommand = regexp.MustCompile("^`(?:make ([\\w-]+)[^`]*|go test [^`]*?(?:-run (\\w+) )?\\./([\\w/]+))`$")
)

// unknown returns the names in a cell that do not exist. A cell lists tests, scripts and commands. A test without a
// package belongs to the package before it, and a name after a script is a script of the same folder.
func (p *proofs) unknown(cell string) (bad []string) {
	folder, where := "", ""
	for piece := range strings.FieldsFuncSeq(proofRemark.ReplaceAllString(cell, ""),
		func(r rune) bool { return r == ',' || r == ';' }) {
		piece = strings.TrimSpace(piece)
		if m := proofTest.FindStringSubmatch(piece); m != nil {
			if m[1] != "" {
				folder = p.folder(m[1])
			}
			if where = ""; !p.folders[folder][m[2]] {
				bad = append(bad, piece)
			}
			continue
		}
		if m := proofTests.FindStringSubmatch(piece); m != nil {
			if where = ""; len(p.folders[p.folder(m[1])]) == 0 {
				bad = append(bad, piece)
			}
			continue
		}
		if m := proofCommand.FindStringSubmatch(piece); m != nil {
			isTarget := m[1] != "" && strings.Contains(p.targets, "\n"+m[1]+":")
			tests := p.folders[m[3]]
			if where = ""; !isTarget && (len(tests) == 0 || m[2] != "" && !tests[m[2]]) {
				bad = append(bad, piece)
			}
			continue
		}
		name := piece
		if m := proofScript.FindStringSubmatch(piece); m != nil {
			if where, name = "script", m[2]; m[1] != "" {
				where = "ollama"
			}
		}
		files, err := filepath.Glob(filepath.Join(p.root, "testscripts", "testdata", where, name+".txtar"))
		if where == "" || !proofName.MatchString(name) || err != nil || len(files) == 0 {
			bad = append(bad, piece)
		}
	}
	return bad
}

// folder returns the folder of a package, which may be named by the end of its path.
func (p *proofs) folder(name string) string {
	if p.folders[name] != nil {
		return name
	}
	var found []string
	for folder := range p.folders {
		if strings.HasSuffix(folder, "/"+name) {
			found = append(found, folder)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// Each proof that docs/requirements.md names exists as a test, a script or a command.
func TestProofsExist(t *testing.T) {
	p, err := newProofs(root(t))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for i, line := range strings.Split(document(t, "docs/requirements.md"), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) < 2 || strings.HasSuffix(line, "| Proof |") {
			continue
		}
		rows++
		if bad := p.unknown(cells[len(cells)-1]); len(bad) > 0 {
			t.Errorf("docs/requirements.md:%d: nothing is called %s", i+1, strings.Join(bad, ", "))
		}
	}
	if rows < 100 {
		t.Errorf("only %d rows were read", rows)
	}
}

// A comment that names a promise by its ID names a row of docs/requirements.md. UTC-12 and UTF-16 are no promises: only
// the groups that the document has are looked at.
func TestIDsInCommentsHaveRow(t *testing.T) {
	id := regexp.MustCompile(`\b([A-Z]{1,8})-([0-9]{2})\b`)
	span := regexp.MustCompile(`\b([A-Z]{1,8})-([0-9]{2})(?:\.\.| to )(?:[A-Z]{1,8}-)?([0-9]{2})\b`)
	rows, groups := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(document(t, "docs/requirements.md")) {
		ids, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range id.FindAllStringSubmatch(ids, -1) {
			rows[m[0]], groups[m[1]] = true, true
		}
		for _, m := range span.FindAllStringSubmatch(ids, -1) {
			first, _ := strconv.Atoi(m[2])
			last, _ := strconv.Atoi(m[3])
			for n := first; n <= last; n++ {
				rows[fmt.Sprintf("%s-%02d", m[1], n)] = true
			}
		}
	}
	eachGoFile(t, func(path string, text []byte) {
		for i, line := range strings.Split(string(text), "\n") {
			_, comment, _ := strings.Cut(line, "//")
			for _, m := range id.FindAllStringSubmatch(comment, -1) {
				if groups[m[1]] && !rows[m[0]] {
					t.Errorf("%s:%d: docs/requirements.md has no row for %s", path, i+1, m[0])
				}
			}
		}
	})
}

// A missing proof is reported, in each form that a proof can have.
func TestMissingProofsAreReported(t *testing.T) {
	p, err := newProofs(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for cell, want := range map[string][]string{
		"runner.TestLoop, TestSimulation; script cli_help, cli_parse; `make storm`; internal/proc tests": nil,
		"store.TestRawSchema; scripts bad_*; `go test ./testscripts` (slow, but whole)":                  nil,
		"runner.TestNothing":                         {"runner.TestNothing"},
		"runner.TestLoop, TestNothing":               {"TestNothing"},
		"TestLoop":                                   {"TestLoop"},
		"script cli_help, cli_nothing":               {"cli_nothing"},
		"scripts nothing_*":                          {"scripts nothing_*"},
		"script cli_help; runner.TestLoop, cli_help": {"cli_help"},
		"nothing tests":                              {"nothing tests"},
		"`make nothing`":                             {"`make nothing`"},
		"`go test ./nothing`":                        {"`go test ./nothing`"},
		"a person looked at it":                      {"a person looked at it"},
	} {
		if got := p.unknown(cell); !slices.Equal(got, want) {
			t.Errorf("%s: %s; want %s", cell, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}
