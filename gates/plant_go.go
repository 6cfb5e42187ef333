package gates

import (
	"encoding/json"
	"fmt"
	"go/build"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/gates/testout"
	"github.com/runplan/runplan/internal/lazyre"
)

// goPackages returns how each package ended, from the events of `go test -json`.
type goPackages map[string]string

func (g goPackages) line(l string) {
	if strings.Contains(l, `"Test":`) || !strings.Contains(l, `"Package":`) {
		return
	}
	var e struct{ Action, Package, Test string }
	if json.Unmarshal([]byte(l), &e) == nil && e.Test == "" &&
		slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
		g[e.Package] = e.Action
	}
}

var goTestMain = lazyre.New(`(?m)^func TestMain\(`)

// plantGo plants a pair of tests in each package that has tests, or only in those in only. It uses an overlay for
// this call of go, so it writes nothing into the tree.
func plantGo(p Project, folders []string, module string, ended goPackages, only []string) recipe {
	return func(w *Look, r *testRun, b *bed) error {
		tmp, err := os.MkdirTemp("", "runplan-plant-*")
		if err != nil {
			return fmt.Errorf("plant tests: %w", err)
		}
		b.undo = append(b.undo, func() { _ = os.RemoveAll(tmp) })
		root, err := filepath.EvalSymlinks(w.at(p.Root))
		if err != nil {
			return fmt.Errorf("plant tests: %w", err)
		}
		over := map[string]string{}
		for _, rel := range folders {
			pkg := path.Join(module, rel)
			if len(only) > 0 && !slices.Contains(only, pkg) {
				continue
			}
			dir := filepath.Join(root, filepath.FromSlash(rel))
			found, err := build.ImportDir(dir, 0)
			if err != nil || len(found.TestGoFiles)+len(found.XTestGoFiles) == 0 {
				continue // built for another system, or never built
			}
			for _, name := range slices.Concat(found.TestGoFiles, found.XTestGoFiles) {
				b.masks = b.masks || goTestMain.MatchString(ReadSome(filepath.Join(dir, name), maxConfig))
			}
			fail, pass := b.pair("TestX")
			text := fmt.Sprintf(
				"package %s_test\n\nimport \"testing\"\n\nfunc %s(t *testing.T) { t.Error(%q) }\n\nfunc %s(t *testing.T) {}\n",
				found.Name, fail, b.word, pass)
			file := filepath.Join(tmp, fmt.Sprintf("%d.go", len(b.plants)))
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return fmt.Errorf("plant tests: %w", err)
			}
			over[filepath.Join(dir, "zz_"+b.word+"_test.go")] = file
			b.plants = append(b.plants, plant{
				place: pkg, fail: fail, pass: pass,
				like: func(c testout.Case) bool { return c.Group == pkg },
				fine: func() bool { return ended[pkg] == "pass" },
			})
		}
		if len(b.plants) == 0 {
			b.why = "no test file is built on this system"
			return nil
		}
		data, err := json.Marshal(map[string]any{"Replace": over})
		if err != nil {
			return fmt.Errorf("plant tests: %w", err)
		}
		list := filepath.Join(tmp, "overlay.json")
		if err := os.WriteFile(list, data, 0o600); err != nil {
			return fmt.Errorf("plant tests: %w", err)
		}
		at := slices.Index(r.args, "-json") + 1
		r.shown = slices.Clone(r.args)
		r.args = slices.Insert(r.args, at, "-overlay="+list)
		if i := slices.Index(r.args, "-run"); i > 0 {
			r.args[i+1] = strings.TrimSuffix(r.args[i+1], ")$") + "|TestX" + b.word + ".*)$"
		}
		return nil
	}
}
