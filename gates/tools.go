package gates

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/runplan/runplan/internal/glob"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
)

// Tool is a program that a gate needs.
type Tool struct {
	Name    string   // for people
	Program string   // its name in PATH; "" if only a copy in the tree counts
	Version []string // arguments that make it print its version, or fail if a part is missing
	Own     []string // preferred copies in the tree, relative to Root and the folders above it
	Root    string   // folder of the project
	Config  string   // file that requires it; "" for a tool of the language itself
	Install string   // how to get it

	// Or is used instead if the tool is missing.
	Or *Tool
}

// State says whether a gate can run.
type State string

// The states of a gate.
const (
	StateReady   State = "ok"             // its tools are installed, or it needs none
	StateMissing State = "missing"        // a tool is not installed
	StateUnset   State = "not configured" // the project does not configure it
	StateOff     State = "off"            // the configuration of runplan turns it off
)

// Readiness says whether one gate can run, and with which tools.
type Readiness struct {
	State State       `json:"state"`
	Tools []ToolState `json:"tools,omitempty"`
	Why   string      `json:"why,omitempty"` // why it is skipped
}

// ToolState says whether one tool is installed.
type ToolState struct {
	Name      string `json:"name"`
	Installed bool   `json:"installed"`
	Version   string `json:"version,omitempty"` // "" if unknown
	Config    string `json:"config,omitempty"`  // file that requires it
	Install   string `json:"install,omitempty"` // how to install it, if it is missing
}

// String describes a tool with its version, or how to install it.
func (t ToolState) String() string {
	is := " is "
	if strings.HasPrefix(t.Name, "the packages") {
		is = " are "
	}
	switch {
	case t.Installed:
		return strings.TrimSpace(t.Name + " " + t.Version)
	case t.Config != "":
		return t.Name + is + "not installed (configured in " + t.Config + ")"
	}
	return t.Name + is + "not installed"
}

// versionLimit limits the time that a tool may take to print its version.
const versionLimit = 20 * time.Second

// Examine reports for each gate whether it can run in the tree in dir. It runs programs in PATH to get their versions.
// It runs nothing in the tree, so the repository need not be trusted. For programs in the tree it reads the version
// from a file.
func Examine(ctx context.Context, dir string, env []string, infos []Info) []Readiness {
	e := examiner{dir: dir, env: toolEnv(env, plainTerminal), asked: map[string]*answered{}}
	for _, info := range infos {
		for i := range info.Tools {
			for t := &info.Tools[i]; t != nil; t = t.Or {
				e.ask(ctx, *t)
			}
		}
	}
	e.wait.Wait()
	return lists.Map(infos, e.readiness)
}

// answered is the answer of one program.
type answered struct {
	installed bool
	version   string
}

type examiner struct {
	dir   string
	env   []string
	wait  sync.WaitGroup
	asked map[string]*answered
}

func (e *examiner) readiness(info Info) Readiness {
	r := Readiness{State: StateReady, Why: info.Unset}
	for i := range info.Tools {
		s := e.state(info.Tools[i])
		for or := info.Tools[i].Or; !s.Installed && or != nil; or = or.Or {
			if alt := e.state(*or); alt.Installed {
				s = alt
			}
		}
		r.Tools = append(r.Tools, s)
		if !s.Installed {
			r.State = StateMissing
		}
	}
	switch {
	case info.Off:
		r.State = StateOff
	case info.Unset != "":
		r.State = StateUnset
	}
	return r
}

func (e *examiner) state(t Tool) ToolState {
	s := ToolState{Name: t.Name, Config: t.Config}
	for _, own := range t.Own {
		if at, ok := upwards(e.dir, t.Root, own); ok {
			s.Installed, s.Version = true, e.ownVersion(at, t.Name)
			return s
		}
	}
	if a := e.asked[t.key()]; t.Program != "" && a != nil {
		s.Installed, s.Version = a.installed, a.version
	}
	if !s.Installed {
		s.Install = t.Install
	}
	return s
}

func (t Tool) key() string { return strings.Join(append([]string{t.Program}, t.Version...), "\x00") }

// ask starts a program in PATH outside of the tree to get its version.
func (e *examiner) ask(ctx context.Context, t Tool) {
	key := t.key()
	if t.Program == "" || e.asked[key] != nil {
		return
	}
	a := &answered{}
	e.asked[key] = a
	e.wait.Go(func() {
		if len(t.Version) == 0 {
			_, err := proc.LookPath(t.Program, e.env)
			a.installed = err == nil
			return
		}
		var said tape
		res, err := proc.Run(ctx, proc.Cmd{
			Args: append([]string{t.Program}, t.Version...), Dir: os.TempDir(), Env: e.env,
			Limits: proc.Limits{Total: versionLimit}, Sweep: proc.NewTag(), Line: said.add,
		})
		switch {
		case errors.Is(err, proc.ErrNotFound):
		case err != nil, res.Ended == proc.Total:
			a.installed = true // installed, but without an answer in time
		case res.OK():
			a.installed = true
			if m := versionNumber.FindStringSubmatch(redact.Clean(said.String())); m != nil {
				a.version = phrase.CutBytes(m[1], 60)
			}
		}
	})
}

var versionNumber = lazyre.New(`(?:^|[\s@v(/"])(?:go)?(\d+\.\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.-]+)?)`)

// ownVersion reads the version of a program in the tree from files of its package manager.
func (e *examiner) ownVersion(at, name string) string {
	full := filepath.Join(e.dir, filepath.FromSlash(at))
	if before, _, ok := strings.Cut(at, "/bin/"); ok { // of a virtual environment
		site := "lib/*/site-packages/" + strings.ReplaceAll(name, "-", "_") + "-*.dist-info"
		if found := glob.Below(filepath.Join(e.dir, filepath.FromSlash(before)), site); len(found) > 0 {
			_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(found[0]), ".dist-info"), "-")
			return phrase.CutBytes(version, 60)
		}
		return ""
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(real); filepath.Base(dir) != "node_modules" && dir != filepath.Dir(dir); dir = filepath.Dir(
		dir) {
		var pkg struct{ Name, Version string }
		if json.Unmarshal([]byte(ReadSome(filepath.Join(dir, "package.json"), maxConfig)), &pkg) == nil && pkg.Version != "" {
			return phrase.CutBytes(redact.Clean(pkg.Version), 60)
		}
	}
	return ""
}

// NodeTool returns a program of node_modules.
func NodeTool(dir, root, name, pkg, config string) Tool {
	return Tool{Name: name, Own: []string{"node_modules/.bin/" + name}, Root: root, Config: config,
		Install: addsNode(dir, root, pkg)}
}

// addsNode returns the command that installs an npm package: it installs the project's packages, or adds a new one.
func addsNode(dir, root, pkg string) string {
	if at := above(root, func(at string) bool {
		return readPackage(dir, at).depends(pkg) || // or another package brings it along
			strings.Contains(readText(dir, at, "package-lock.json"), `"node_modules/`+pkg+`"`)
	}); at != "" {
		return installs(dir, at)
	}
	if tool := packageManager(dir, root); tool != "npm" {
		return tool + " add --dev " + pkg
	}
	return "npm install --save-dev " + pkg
}

// PythonTool returns a tool from a project's virtual environment, or else from the PATH.
func PythonTool(dir, root, name, config string) Tool {
	return Tool{
		Name: name, Program: name, Version: []string{"--version"}, Root: root, Config: config,
		Own: []string{".venv/bin/" + name, "venv/bin/" + name}, Install: addsPython(dir, root, name),
	}
}

// addsPython returns the command that installs a Python tool: with the project's requirements if they name the tool,
// else alone.
func addsPython(dir, root, tool string) string {
	named := regexp.MustCompile(`(?mi)["']` + tool + `["'\s\[<>=~!;]|^` + tool + `\s*=`)
	is := regexp.MustCompile(`(?mi)^` + tool + `(?:[\s\[<>=~!;]|$)`)
	project := readPyproject(dir, root)
	group, extra := "", ""
	for _, g := range slices.Sorted(maps.Keys(project.Groups)) {
		asks := slices.ContainsFunc(project.Groups[g], func(r any) bool {
			s, ok := r.(string)
			return ok && is.MatchString(s)
		})
		if group == "" && asks {
			group = g
		}
	}
	for _, e := range slices.Sorted(maps.Keys(project.Project.Extras)) {
		if extra == "" && slices.ContainsFunc(project.Project.Extras[e], is.MatchString) {
			extra = e
		}
	}
	for _, m := range []struct{ lock, command, group, extra string }{
		{"uv.lock", "uv sync", "--group", "--extra"}, {"poetry.lock", "poetry install", "--with", "--extras"},
		{"pdm.lock", "pdm install", "-G", "-G"}, {"Pipfile.lock", "pipenv sync --dev", "", ""},
	} {
		at, ok := upwards(dir, root, m.lock)
		if !ok || !named.MatchString(readText(dir, path.Dir(at), "pyproject.toml")+readText(dir, path.Dir(at), "Pipfile")) {
			continue
		}
		switch {
		case group != "" && group != "dev":
			return m.command + " " + m.group + " " + group
		case group == "" && extra != "":
			return m.command + " " + m.extra + " " + extra
		}
		return m.command
	}
	switch {
	case group != "":
		return "pip install -e . --group " + group
	case extra != "":
		return "pip install -e '.[" + extra + "]'"
	}
	for _, file := range []string{
		"requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "requirements_dev.txt", "requirements-test.txt",
		"test-requirements.txt", "requirements/dev.txt", "requirements/test.txt", "requirements/tests.txt",
	} {
		if is.MatchString(readText(dir, root, file)) {
			return "pip install -r " + file
		}
	}
	return "pip install " + tool
}

// goTool returns the go command.
func goTool() Tool {
	return Tool{Name: "go", Program: "go", Version: []string{"version"}, Install: "https://go.dev/dl"}
}

// onPathTool returns a program in PATH that prints its version with --version.
func onPathTool(name, config, install string) Tool {
	return Tool{Name: name, Program: name, Version: []string{"--version"}, Config: config, Install: install}
}
