package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/proc"
)

// write exports a task and runs the export: first on the repository before the commit, then on its answer. It removes
// a task whose tests do not fail first and then pass.
func (x *export) write(ctx context.Context, w *work) error {
	id := x.instanceID(w)
	dir := filepath.Join(x.out.Dir, HarborDir, id)
	err := x.describe(ctx, w)
	if err == nil {
		err = x.harbor(ctx, w, id, dir)
	}
	if err == nil {
		err = x.prove(ctx, w, dir)
	}
	if err != nil {
		_ = os.RemoveAll(dir) // the returned error has more detail
		return err
	}
	w.receipt.Task = id
	x.instances = append(x.instances, x.instance(ctx, w, id))
	return nil
}

// instanceID names a task as SWE-bench does: owner__name-commit.
func (x *export) instanceID(w *work) string {
	return strings.ReplaceAll(x.slug(), "/", "__") + "-" + w.Hash[:12]
}

// slug is the repository as owner/name, without its host.
func (x *export) slug() string {
	parts := strings.Split(x.m.Repo, "/")
	if len(parts) > 2 {
		parts = parts[1:]
	}
	clean := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/", r) {
			return r
		}
		return '-'
	}
	return strings.TrimLeft(strings.Map(clean, strings.Join(parts, "/")), ".-")
}

// instance is a line for the loaders of SWE-bench: all its fields are texts, and the fields with tests contain JSON.
type instance struct {
	Repo       string `json:"repo"`
	InstanceID string `json:"instance_id"`
	Base       string `json:"base_commit"`
	Patch      string `json:"patch"`
	TestPatch  string `json:"test_patch"`
	Problem    string `json:"problem_statement"`
	Hints      string `json:"hints_text"`
	Created    string `json:"created_at"`
	Version    string `json:"version"` // the release before the commit; "" if none
	FailToPass string `json:"FAIL_TO_PASS"`
	PassToPass string `json:"PASS_TO_PASS"`
	Setup      string `json:"environment_setup_commit"`
}

func (x *export) instance(ctx context.Context, w *work, id string) instance {
	base := w.Parents[0]
	version, err := x.Repo.Run(ctx, "describe", "--tags", "--abbrev=0", base)
	if err != nil {
		version = "" // there is no tag before it
	}
	list := func(names []string) string {
		text, _ := json.Marshal(slices.Concat([]string{}, names)) // strings always encode
		return string(text)
	}
	return instance{
		Repo: x.slug(), InstanceID: id, Base: base, Patch: string(w.patch), TestPatch: string(w.testPatch), Problem: w.task,
		Created: w.Time.Format(time.RFC3339), Version: version, FailToPass: list(w.receipt.Fixed),
		PassToPass: list(w.receipt.Kept), Setup: base,
	}
}

// describe gets the versions of the tools that ran the tests.
func (x *export) describe(ctx context.Context, w *work) error {
	return x.Rooms.In(ctx, w.Parents[0], w.before, func(dir, _ string, env []string) error {
		ask := [][]string{{"go", "env", "GOVERSION"}}
		if w.lang == gates.LangPython {
			python := w.interpreter(dir)
			ask = [][]string{{python, "-c", "import platform; print('python' + platform.python_version())"},
				{python, "-c", "import pytest; print('pytest' + pytest.__version__)"}}
		}
		for _, args := range ask {
			out, err := proc.Output(ctx, proc.Cmd{Args: args, Dir: dir, Env: env, Reaper: x.Reaper,
				Limits: proc.Limits{Total: time.Minute}})
			if err != nil {
				return refuse(CannotRun, "%s", phrase.Line(err.Error()))
			}
			w.receipt.Tools = append(w.receipt.Tools, strings.TrimSpace(string(out)))
		}
		return nil
	})
}

// interpreter is the program that ran the tests of Python, in the room at dir.
func (w *work) interpreter(dir string) string {
	python := w.suites[0].args[0]
	if filepath.IsLocal(python) && strings.ContainsRune(python, filepath.Separator) {
		return filepath.Join(dir, python)
	}
	return python
}

// prove runs tests/test.sh of the export as a grader would: once on the base, and once on the exported answer.
func (x *export) prove(ctx context.Context, w *work, task string) error {
	var err error
	if w.receipt.Base, err = x.proof(ctx, w, task, false); err != nil {
		return err
	}
	if w.receipt.Solution, err = x.proof(ctx, w, task, true); err != nil {
		return err
	}
	switch {
	case w.receipt.Base.Reward != "0":
		return refuse(ProofGreen, "")
	case w.receipt.Solution.Reward != "1":
		return refuse(ProofRed, "%s", w.receipt.Solution.Said)
	}
	return nil
}

func (x *export) proof(ctx context.Context, w *work, task string, solved bool) (*Proof, error) {
	var out Proof
	err := x.Rooms.In(ctx, w.Parents[0], w.before, func(dir, temp string, env []string) error {
		logs := filepath.Join(temp, "verifier")
		env = append(slices.Clip(env), "VERIFIER_LOGS="+logs)
		if w.lang == gates.LangPython {
			env = append(env, "PYTHON="+w.interpreter(dir))
		}
		run := func(script string) (proc.Result, error) {
			return proc.Run(ctx, proc.Cmd{
				Args: []string{"bash", filepath.Join(task, filepath.FromSlash(script))}, Dir: dir, Env: env, Sweep: proc.NewTag(),
				Reaper: x.Reaper, Limits: proc.Limits{Total: x.Limit}, Keep: 8 << 10,
			})
		}
		if solved {
			res, err := run("solution/solve.sh")
			if err != nil || !res.OK() {
				return refuse(ProofRed, "solution/solve.sh: %s", phrase.Line(fmt.Sprint(err, " ", res.Tail)))
			}
		}
		res, err := run("tests/test.sh")
		if err != nil {
			return err
		}
		reward, err := os.ReadFile(filepath.Join(logs, "reward.txt"))
		if err != nil {
			return refuse(CannotRun, "tests/test.sh wrote no reward: %s", phrase.Line(res.Tail))
		}
		out = Proof{Reward: strings.TrimSpace(string(reward)), Exit: res.Exit,
			Said: phrase.Cut(phrase.LastLine(res.Tail), 300)}
		return nil
	})
	return &out, err
}

// contents returns the files of the commit at the paths of list, and those that it removes.
func (w *work) contents(list []string) (there []git.Entry, gone []string) {
	for _, e := range w.Entries {
		if !slices.Contains(list, e.Path) {
			continue
		}
		if _, blob := e.Blobs(); blob != "" {
			there = append(there, e)
		} else {
			gone = append(gone, e.Path)
		}
	}
	return there, gone
}
