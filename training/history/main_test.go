package history

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/runplan/runplan/agents/solver"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/knowledge/retrieve"
	"github.com/runplan/runplan/patterns"
	"github.com/runplan/runplan/tools/tooltest"
	"github.com/runplan/runplan/training"
)

// astGrep returns the ast-grep that the tests run.
func astGrep(t testing.TB) patterns.Program {
	t.Helper()
	p, err := patterns.Find(t.Context(), tooltest.Environ(t), "")
	if err != nil {
		tooltest.Missing(t, err, tooltest.AstGrep)
	}
	return p
}

// repo is a git repository that a test builds.
type repo struct {
	t   testing.TB
	dir string
	env []string
	now time.Time // of the next commit; each one is a week after the one before
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{t: t, dir: filepath.Join(dir, "shop"), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=Ada",
		"GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@example.org")
	r.git("init", "-q", "-b", "main", ".")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	at := r.now.Format(time.RFC3339)
	cmd.Dir, cmd.Env = r.dir, append(slices.Clone(r.env), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes the files of an archive and commits them. It deletes a file whose content is empty.
func (r *repo) commit(message, archive string) string {
	r.t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(r.dir, filepath.FromSlash(f.Name))
		if len(f.Data) == 0 {
			if err := os.Remove(name); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	r.now = r.now.AddDate(0, 0, 7)
	return r.git("rev-parse", "HEAD")
}

func (r *repo) options(dir string) Options {
	r.t.Helper()
	opened, err := git.Open(r.t.Context(), r.dir, r.env)
	if err != nil {
		r.t.Fatal(err)
	}
	o := Options{Repo: opened, Dir: dir, Seed: 1, Budget: DefaultBudget(), Version: "test"}
	if o.Retrieval, err = retrieve.LoadPrompts(); err != nil {
		r.t.Fatal(err)
	}
	if o.Solver, err = solver.LoadPrompts(); err != nil {
		r.t.Fatal(err)
	}
	return o
}

// examples reads the examples that a run wrote for a stage.
func examples(t testing.TB, dir string, s training.Stage) []training.Example {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name(s)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []training.Example
	for e, err := range training.Read(f.Name(), f) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// contents returns the contents of all files in a folder.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

// shop is the repository that most tests use.
const shop = `
-- go.mod --
module example.org/shop

go 1.24
-- cart/cart.go --
// Package cart holds what a customer wants to buy.
package cart

import "example.org/shop/price"

// Item is one thing in a cart.
type Item struct {
	Name  string
	Cents int
}

// Cart is what a customer wants to buy.
type Cart struct{ Items []Item }

// Total adds up what is in the cart.
func (c *Cart) Total() int {
	sum := 0
	for _, i := range c.Items {
		sum += i.Cents
	}
	return sum
}

// Describe says what is in the cart.
func (c *Cart) Describe() string { return price.Format(c.Total()) }
-- cart/names.go --
package cart

// shorten cuts a name.
func shorten(name string) string {
	if len(name) > 10 {
		return name[:10]
	}
	return name
}
-- price/price.go --
// Package price knows about money.
package price

import "fmt"

// Format writes cents for people.
func Format(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// Discount takes percent off.
func Discount(cents, percent int) int { return cents * (100 - percent) / 100 }
-- mail/discount_letter.go --
package mail

// Letter announces a discount.
func Letter() string { return "less is more" }
-- tools/report.py --
"""Reports of carts."""

from tools.table import draw


def report(carts):
    """Draw all carts."""
    lines = []
    for cart in carts:
        lines.append(str(cart))
    return draw(lines)


def unused():
    return None
-- tools/table.py --
def draw(lines):
    """Draw lines below each other."""
    return "\n".join(lines)
-- tools/carts.py --
def load():
    return []
`

// discounted is a commit on top of the shop that gives an example for every stage.
const discounted = `
-- cart/cart.go --
// Package cart holds what a customer wants to buy.
package cart

import "example.org/shop/price"

// Item is one thing in a cart.
type Item struct {
	Name  string
	Cents int
}

// Cart is what a customer wants to buy.
type Cart struct{ Items []Item }

// Total adds up what is in the cart, with the discount for many things.
func (c *Cart) Total() int {
	sum := 0
	for _, i := range c.Items {
		sum += i.Cents
	}
	if len(c.Items) > 9 {
		sum = price.Discount(sum, 5)
	}
	return sum
}

// Describe says what is in the cart.
func (c *Cart) Describe() string { return price.Format(c.Total()) }
-- cart/cart_test.go --
package cart

import "testing"

func TestDiscount(t *testing.T) {
	c := Cart{Items: make([]Item, 10)}
	if c.Total() != 0 {
		t.Error("nothing costs something")
	}
}
`

// sorted is another such commit, in Python.
const sorted = `
-- tools/report.py --
"""Reports of carts."""

from tools.table import draw


def report(carts):
    """Draw all carts, in order."""
    lines = []
    for cart in sorted(carts):
        lines.append(str(cart))
    lines.sort()
    return draw(lines)


def unused():
    return None
`
