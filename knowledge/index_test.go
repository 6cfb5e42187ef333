package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/patterns"
)

// sample is a small repository in four languages.
const sample = `
-- app/__init__.py --
"""The app."""
from .core import run
-- app/core.py --
from __future__ import annotations
import os
from typing import TYPE_CHECKING
from . import util as u
from .base import Base, helper
if TYPE_CHECKING:
    from .models import Model

LIMIT = 3


class Runner(Base):
    """Runs.

    Args:
        size (int): how many
    """

    size: int = 1

    def run(self, m: Model):
        # We retry because the server is slow.
        self.prepare()
        self.setup()
        return u.double(helper(self.size))

    def prepare(self):
        pass


def run():
    r = Runner()
    r.setup()
    return r
-- app/base.py --
class Base:
    def setup(self): ...

def helper(x): return x
-- app/util.py --
def double(x):
    return helper2(x) * 2

def helper2(helper2): return helper2()
-- app/models.py --
class Model: pass
-- tests/test_core.py --
from app import run
from app.core import *
def test_run():
    assert run() and Runner()
-- web/tsconfig.json --
{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"],}}} // a comment
-- web/src/a.ts --
import type { B } from './b.js';
import { c } from '@/c';
/** Adds.
 * @param {number} x - what
 */
export function add(x: number): number { return c(x) }
-- web/src/b.ts --
export interface B { go(): void }
-- web/src/c.js --
export const c = (x) => x; // TODO: more
-- go.mod --
module example.org/m
-- main.go --
// Package main does it.
package main

import "example.org/m/lib"

func main() { lib.Do() }
-- lib/do.go --
package lib

// Do does.
func Do() {}
-- lib/other.go --
package lib

type T struct{}

func (t *T) M() {}
`

// The index contains the files, symbols and edges of the sample repository.
func TestIndex(t *testing.T) {
	p := newPlace(t, sample)
	res := p.index()
	if res.Scanned != 12 || res.Changed != 12 || len(res.Errors) != 0 || len(res.Skipped) != 0 {
		t.Fatalf("%+v", res)
	}
	got := dump(t, p.db, []string{named[1], named[5], named[6]})
	for _, want := range []string{
		"[app/core.py Runner class 12 28 class Runner(Base) <nil> <nil>]",
		"[app/core.py run method 21 25 def run(self, m: Model) Runner 12]",
		"[app/core.py size variable 19 19 size: int = 1 Runner 12]",
		"[app/core.py LIMIT variable 9 9 LIMIT = 3 <nil> <nil>]",
		"[web/src/c.js c function 1 1 c = (x) <nil> <nil>]",
		"[web/src/b.ts go method 1 1 go(): void B 1]",
		"[lib/other.go M method 5 5 func (t *T) M() T 3]",
		// Imports resolve to files: a submodule resolves to its own file, a name of a package to the file of the
		// package.
		"[app/core.py app/util.py import]", "[app/core.py app/base.py import]", "[app/core.py app/models.py type_ref]",
		"[app/__init__.py app/core.py import]", "[tests/test_core.py app/__init__.py import]",
		"[tests/test_core.py app/core.py import]",
		"[web/src/a.ts web/src/b.ts type_ref]", "[web/src/a.ts web/src/c.js import]", "[main.go lib/do.go import]",
		// Names resolve to symbols, with a confidence.
		"[app/core.py run 21 app/core.py prepare 27 call 0.95]",
		"[app/core.py run 21 app/base.py setup 2 call 0.85]",
		"[app/core.py run 21 app/util.py double 1 call 0.95]",
		"[app/core.py run 21 app/base.py helper 4 call 0.95]",
		"[app/core.py run 21 app/models.py Model 1 type 0.95]",
		"[app/core.py Runner 12 app/base.py Base 1 inherit 0.95]",
		"[app/core.py run 31 app/core.py Runner 12 call 1]",
		"[app/core.py run 31 app/base.py setup 2 call 0.4]",
		"[app/util.py double 1 app/util.py helper2 4 call 1]",
		"[tests/test_core.py test_run 3 app/core.py Runner 12 call 0.8]",
		"[tests/test_core.py test_run 3 app/core.py run 31 call 0.903]",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
	// helper2 is a parameter there, not the function with that name; main.go does not use lib/other.go.
	for _, not := range []string{"[app/util.py helper2 4 app/util.py helper2 4", "[main.go lib/other.go",
		"[app/core.py app/__init__.py"} {
		if strings.Contains(got, not) {
			t.Errorf("the index has %s", not)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// Two indexes of the same tree have the same rows, including ids.
func TestIndexIsDeterministic(t *testing.T) {
	p := newPlace(t, sample)
	second := filepath.Join(t.TempDir(), "second.sqlite")
	at := p.now
	for _, db := range []string{p.db, second} {
		if _, err := p.try(db, func(o *Options) { o.Program, o.Now = program(t), at }); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(dump(t, p.db, raw), dump(t, second, raw)); d != "" {
		t.Error(d)
	}
	// If no file changed, the next index reads nothing and changes nothing.
	before := dump(t, p.db, raw)
	res, err := p.try(p.db, func(o *Options) { o.Program, o.Now = program(t), at })
	if err != nil || res.Changed != 0 || res.Resolved != 0 || res.Commits != 0 {
		t.Errorf("again: %+v, %v", res, err)
	}
	if d := cmp.Diff(before, dump(t, p.db, raw)); d != "" {
		t.Error(d)
	}
}

// An index that was updated after each change equals a new index of the same tree.
func TestIndexFollowsChanges(t *testing.T) {
	p := newPlace(t, sample)
	p.index()
	rnd := rand.New(rand.NewPCG(1, 2))
	extra := 0
	edits := []func(){
		func() {
			p.write("app/base.py", fmt.Sprintf("class Base:\n    def setup(self): return %d\n\ndef helper(x): return x\n",
				rnd.IntN(99)))
		},
		func() {
			p.write("app/base.py", "def helper(x): return x\n\ndef helper(x): return 2\nclass Other: pass\n")
		},
		func() {
			p.write("app/util.py", "# moved\n\ndef double(x):\n    def inner(): return x\n    return inner()\n")
		},
		func() { p.write("app/util.py", "from .base import helper as double\n") },
		func() { p.write("app/__init__.py", "from .core import Runner as run, util\n") },
		func() { p.write("app/__init__.py", "util = 1\n") },
		func() { p.write("lib/do.go", "package lib\n\nfunc Other() {}\n") },
		func() { p.write("lib/other.go", "package lib\n\nfunc (t *T) M() {}\n\ntype T int\n\nfunc Do() {}\n") },
		func() { p.write("web/src/a.ts", "import c from './c';\nexport enum E { A }\n") },
		func() {
			p.write("web/tsconfig.json", fmt.Sprintf(`{"compilerOptions": {"paths": {"@/*": ["src/%d/*"]}}}`, rnd.IntN(9)))
		},
		func() {
			extra++
			p.write(fmt.Sprintf("app/extra%d.py", extra), "from .base import *\ndef e(): helper(1)\n")
		},
		func() { p.write("app/models/__init__.py", "class Model:\n  def m(self): self.m()\n") },
		func() {
			if extra > 0 {
				p.remove(fmt.Sprintf("app/extra%d.py", extra))
				extra--
			}
		},
		func() { p.commit("more") },
		func() { p.at(p.repo.Root, "add", "-A"); p.at(p.repo.Root, "mv", "app/core.py", "app/kernel.py") },
		func() { p.at(p.repo.Root, "mv", "app/kernel.py", "app/core.py") },
		func() {
			p.at(p.repo.Root, "add", "-A")
			p.at(p.repo.Root, "commit", "-q", "--amend", "--allow-empty", "-m", "another past")
		},
	}
	moved := false
	for step := range 30 {
		for range 1 + rnd.IntN(3) {
			i := rnd.IntN(len(edits))
			switch i {
			case len(edits) - 3:
				if moved {
					continue
				}
				moved = true
			case len(edits) - 2:
				if !moved {
					continue
				}
				moved = false
			}
			edits[i]()
		}
		p.index()
		cold := filepath.Join(t.TempDir(), "cold.sqlite")
		if _, err := p.try(cold, nil); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(dump(t, cold, named), dump(t, p.db, named)); d != "" {
			t.Fatalf("step %d, cold - followed +:\n%s", step, d)
		}
		checkKeys(t, p.db)
	}
}

// checkKeys checks that the database contains no broken references.
func checkKeys(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "PRAGMA foreign_key_check")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		t.Error("a key that leads nowhere")
	}
}

// Deleted and renamed files disappear from the index with all their data; other files keep their ids.
func TestIndexRemovesDeletedFiles(t *testing.T) {
	p := newPlace(t, sample)
	p.index()
	b, repo := p.base()
	core, _, err := b.FileByPath(t.Context(), repo, "app/core.py")
	if err != nil {
		t.Fatal(err)
	}
	p.remove("app/util.py")
	p.at(p.repo.Root, "mv", "app/base.py", "app/root.py")
	res := p.index()
	if res.Deleted != 2 || res.Changed != 1 {
		t.Errorf("deleted %d, changed %d", res.Deleted, res.Changed)
	}
	if got := dump(t, p.db, named[:7]); strings.Contains(got, "app/util.py") || strings.Contains(got, "app/base.py") {
		t.Error("still there:\n" + got)
	}
	if again, _, _ := b.FileByPath(t.Context(), repo, "app/core.py"); again.ID != core.ID {
		t.Errorf("id %d became %d", core.ID, again.ID)
	}
}

// A parse error stops indexing, reports the line and its content, and keeps the previous index.
func TestIndexFailsFast(t *testing.T) {
	for name, text := range map[string]string{"bad.py": "x = 1\ndef f(:\n    pass\n",
		"bad.go": "package bad\nfunc f( {}\n", "bad.js": "const a = 1;\nclass { { ]\n"} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, sample)
			p.index()
			before := dump(t, p.db, raw)
			p.write(name, text)
			p.write("app/base.py", "def new(): pass\n")
			_, err := p.try(p.db, func(o *Options) { o.Program, o.ContinueOnError = program(t), false })
			var broken *FileError
			if !errors.As(err, &broken) || broken.Path != name || broken.Line != 2 || !strings.Contains(text, broken.Content) ||
				broken.Content == "" {
				t.Fatalf("%v", err)
			}
			if d := cmp.Diff(before, dump(t, p.db, raw)); d != "" {
				t.Error(d)
			}
			res, err := p.try(p.db, nil)
			if err != nil || len(res.Errors) != 1 || res.Errors[0].Path != name {
				t.Errorf("%+v, %v", res.Errors, err)
			}
			if !strings.Contains(dump(t, p.db, named[:1]), " partial line 2: ") {
				t.Error("the state of the file does not say it")
			}
		})
	}
}

// If indexing is interrupted, the previous index stays unchanged.
func TestInterruptedIndexKeepsPrevious(t *testing.T) {
	p := newPlace(t, sample)
	p.index()
	before := dump(t, p.db, raw)
	p.write("app/base.py", "def new(): pass\n")
	for _, stage := range []string{"read", "resolve", "history"} {
		c, err := store.OpenCurated(t.Context(), p.db)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err = Index(ctx, Options{Repo: p.repo, Store: c, Program: program(t), Now: p.now, Progress: func(s Progress) {
			if s.Stage == stage {
				cancel(errors.New("enough"))
			}
		}})
		c.Close()
		if err == nil {
			t.Errorf("%s: no error", stage)
		}
		if d := cmp.Diff(before, dump(t, p.db, raw)); d != "" {
			t.Error(d)
		}
	}
}

// While a transaction changes the index, readers see the previous state. store.TestCuratedRefusesSecondWriter has the
// second writer.
func TestReadersSeePreviousIndex(t *testing.T) {
	p := newPlace(t, sample)
	p.index()
	c, err := store.OpenCurated(t.Context(), p.db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	b, repo := p.base()
	files, err := b.Files(t.Context(), repo, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := tx.DeleteFile(t.Context(), f.ID); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := b.Files(t.Context(), repo, ""); err != nil || len(again) != len(files) {
		t.Errorf("%d files of %d, %v", len(again), len(files), err)
	}
}

// Without ast-grep only Go files are indexed; the other files are counted in a note and indexed once ast-grep is
// available.
func TestIndexWithoutAstGrep(t *testing.T) {
	p := newPlace(t, sample)
	without := func(o *Options) { o.Program = patterns.Program{} }
	res, err := p.try(p.db, without)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Skipped) != 9 || !strings.HasPrefix(res.Note, "9 file(s)") ||
		!strings.Contains(res.Note, patterns.MissingNote) {
		t.Errorf("skipped %d, note %q", len(res.Skipped), res.Note)
	}
	got := dump(t, p.db, named)
	if !strings.Contains(got, "[lib/do.go Do function") || strings.Contains(got, "Runner") {
		t.Error(got)
	}
	if res := p.index(); res.Changed != 9 || len(res.Skipped) != 0 {
		t.Errorf("with ast-grep: %+v", res)
	}
	// Without ast-grep the index keeps the data of unchanged files and drops that of changed files.
	p.write("app/base.py", "def new(): pass\n")
	if _, err := p.try(p.db, without); err != nil {
		t.Fatal(err)
	}
	got = dump(t, p.db, named[:2])
	if !strings.Contains(got, "Runner") || strings.Contains(got, "[app/base.py Base") ||
		strings.Contains(got, "[app/base.py new") {
		t.Error(got)
	}
}

// Configuration and comments in the repository cannot hide code from the index, and unreadable files are reported.
func TestRepositoryCannotHideCode(t *testing.T) {
	p := newPlace(t, `
-- sgconfig.yml --
ruleDirs: [nope]
languageGlobs: {javascript: ["*.py"]}
-- hidden.py --
# ast-grep-ignore

def hidden(): pass
-- line.py --
def line(): pass  # ast-grep-ignore
-- -dash.py --
def dash(): pass
-- empty.py --
-- blank.py --

-- min.js --
var a=1;
-- node_modules/x/a.js --
function foreign() {}
`)
	p.write("min.js", "var a=1;"+strings.Repeat("function f(){return a};", 600))
	p.write("latin.py", "# -*- coding: latin-1 -*-\ndef caf\xe9(): pass\nclass After: pass\n")
	p.write("broken.ts", "const a = '\xff';\n")
	p.write("nul.js", "a\x00b")
	res := p.index()
	got := dump(t, p.db, named[:2])
	for _, want := range []string{"[hidden.py hidden function 3 3", "[line.py line function", "[-dash.py dash function",
		"[latin.py café function 2 2", "[latin.py After class 3 3", "[blank.py python"} {
		if !strings.Contains(got, want) {
			t.Errorf("missing: %s", want)
		}
	}
	var why []string
	for _, s := range res.Skipped {
		why = append(why, s.Path+": "+s.Reason)
	}
	want := []string{"broken.ts: not UTF-8",
		"min.js: it has a line of 13808 bytes, and the limit is 10000: probably a generated file",
		"node_modules: third-party code; name the path to scan it", "nul.js: binary"}
	if d := cmp.Diff(want, why); d != "" {
		t.Error(d)
	}
	// Skipped files are reported by each index, not only if they are new.
	if again := p.index(); len(again.Skipped) != len(res.Skipped) || again.Changed != 0 {
		t.Errorf("again: %+v", again)
	}
}
