package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/training"
)

func TestMessagesThatSayWhatChanged(t *testing.T) {
	for message, want := range map[string]Reason{
		"Give a discount on carts with many items":        "",
		"fix(parser): empty headings end the batch (#12)": "",
		"feat!: retry uploads after a timeout":            "",
		"Fix crash in loadConfig":                         "",
		"fix":                                             SaysLittle,
		"wip":                                             SaysLittle,
		"misc":                                            SaysLittle,
		"misc fixes and cleanup of some stuff":            SaysLittle,
		"fix: address review comments":                    SaysLittle,
		"update files":                                    SaysLittle,
		"more work on tests and code":                     SaysLittle,
		"typo":                                            SaysLittle,
		"":                                                SaysLittle,
		"Merge branch 'x' into main":                      ByProgram,
		"Revert \"Give a discount\"":                      ByProgram,
		"Undo discounts\n\nThis reverts commit 0123456789.": ByProgram,
		"Bump lodash from 1.2.3 to 1.2.4":                   ByProgram,
		"chore(deps): update module x to v2":                ByProgram,
		"v1.2.3":                                            ByProgram,
		"Release 4.0":                                       ByProgram,
		"fixup! Give a discount on carts with many items":   ByProgram,
	} {
		if got := ofMessage(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
	if got := taskOf("Say it\n\nAt length.\n\nSigned-off-by: a <a@b>\nCo-authored-by: b <c@d>\n"); got != "Say it\n\nAt length." {
		t.Errorf("task %q", got)
	}
}

// Whatever changes, the hunks make the one text of the other, and so do the edits where there are any.
func TestDiffsAndEditsMakeTheNewText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	made := 0
	for n := range 3000 {
		var before []string
		for range rnd.IntN(40) {
			before = append(before, fmt.Sprintf("line %d\n", rnd.IntN(30)))
		}
		var after []string
		for _, l := range before {
			switch rnd.IntN(12) {
			case 0:
			case 1:
				after = append(after, l, fmt.Sprintf("new %d\n", rnd.IntN(99)))
			case 2:
				after = append(after, fmt.Sprintf("other %d\n", rnd.IntN(5)))
			default:
				after = append(after, l)
			}
		}
		hunks, changed, ok := compare(before, after, 1000)
		if !ok {
			t.Fatalf("%d: no way from %q to %q", n, before, after)
		}
		var got []string
		at, count := 0, 0
		for _, h := range hunks {
			got = append(append(got, before[at:h.from]...), after[h.newFrom:h.newTo]...)
			at = h.to
			count += h.to - h.from + h.newTo - h.newFrom
		}
		if got = append(got, before[at:]...); strings.Join(got, "") != strings.Join(after, "") || count != changed {
			t.Fatalf("%d: %q to %q by %v makes %q", n, before, after, hunks, got)
		}
		if changed > 0 {
			if _, _, ok := compare(before, after, changed-1); ok {
				t.Fatalf("%d: %d lines are found with %d allowed", n, changed, changed-1)
			}
		}
		if len(before) == 0 || len(hunks) == 0 {
			continue
		}
		c := &change{path: "a/b.go", hunks: hunks}
		c.before, c.after = newSource(c.path, "1", []byte(strings.Join(before, ""))), newSource(c.path, "2", []byte(strings.Join(after, "")))
		if _, err := write(c); err == nil { // which has carried them out
			made++
		} else if strings.Contains(err.Error(), "another text") {
			t.Fatalf("%d: %v\n%q\n%q", n, err, before, after)
		}
	}
	if made < 1500 {
		t.Errorf("edits could be written of %d changes only", made)
	}
}

// Marks in the code itself do not end a block.
func TestEditsOfCodeWithMarks(t *testing.T) {
	old := "package a\n\nconst x = `\n<<<<<<< SEARCH\nfoo\n=======\nbar\n>>>>>>> REPLACE\n`\n"
	c := &change{path: "a.go", before: newSource("a.go", "1", []byte(old)), after: newSource("a.go", "2", []byte(strings.Replace(old, "foo", "new", 1)))}
	c.hunks, _, _ = compare(c.before.ended, c.after.ended, 10)
	w, err := write(c)
	if err != nil || !strings.Contains(w.text, "<<<<<<<<< SEARCH\n") {
		t.Errorf("%v\n%s", err, w.text)
	}
}

// varied is a history with one commit for most of the reasons.
func varied(t *testing.T) *repo {
	r := newRepo(t)
	r.commit("Begin the shop with carts and prices", shop)
	r.commit("Give a discount on carts with many items", discounted)
	r.commit("fix", "-- price/price.go --\npackage price\n\n// Format writes cents.\nfunc Format(int) string { return \"\" }\n\n// Discount takes percent off.\nfunc Discount(cents, percent int) int { return cents * (100 - percent) / 100 }\n")
	r.commit("Bump x from 1.0 to 1.1", "-- go.mod --\nmodule example.org/shop\n\ngo 1.25\n")
	r.commit("Write down how prices are rounded", "-- README.md --\nUp.\n")
	r.commit("Generate the messages of the protocol", "-- api/shop.pb.go --\npackage api\n")
	r.commit("Generate the table of currencies anew", "-- price/table.go --\n// Code generated by tables. DO NOT EDIT.\n\npackage price\n")
	r.commit("Split everything into many parts", "-- a/a.go --\npackage a\n-- a/b.go --\npackage a\n-- a/c.go --\npackage a\n-- a/d.go --\npackage a\n-- a/e.go --\npackage a\n-- a/f.go --\npackage a\n")
	r.commit("Bring in a large table of numbers", "-- price/numbers.go --\npackage price\n\nvar numbers = []int{\n"+strings.Repeat("\t1,\n", 250)+"}\n")
	r.commit("Talk to the warehouse with its own key", "-- price/key.go --\npackage price\n\nconst key = \"AKIAQ7ZXN4TBV2WLMK5D\"\n")
	r.commit("Round half cents up in discounts", "-- price/price.go --\npackage price\n\n// Format writes cents.\nfunc Format(int) string { return \"\" }\n\n// Discount takes percent off, and rounds up.\nfunc Discount(cents, percent int) int { return (cents*(100-percent) + 50) / 100 }\n")
	taken := r.commit("Shorten the names of things to five letters", "-- cart/names.go --\npackage cart\n\n// shorten cuts a name.\nfunc shorten(name string) string {\n\tif len(name) > 5 {\n\t\treturn name[:5]\n\t}\n\treturn name\n}\n")
	r.git("revert", "--no-edit", taken)
	r.commit("Break the names of things in half", "-- cart/names.go --\npackage cart\n\nfunc shorten(name string) string {\n")
	r.git("checkout", "-q", "-b", "side")
	r.commit("Note what is to be done about prices", "-- TODO.md --\nAll.\n")
	r.git("checkout", "-q", "main")
	r.git("merge", "-q", "--no-ff", "-m", "Merge branch side", "side")
	return r
}

func TestEachCommitHasOneReason(t *testing.T) {
	r := varied(t)
	o := r.options(t.TempDir())
	m, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[Reason]int{}
	sum := m.Used
	for why, n := range m.Reasons {
		if n > 0 {
			got[why] = n
		}
		sum += n
	}
	want := map[Reason]int{Merge: 1, NoParent: 1, Reverted: 1, ByProgram: 2, SaysLittle: 1, OtherCode: 2, Generated: 2, TooManyFile: 1, TooMany: 1, Secret: 1, Broken: 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if m.Used != 2 || sum != m.Commits {
		t.Errorf("%d commits, %d used, %d told", m.Commits, m.Used, sum)
	}
	for name, text := range contents(t, o.Dir) {
		if strings.Contains(text, "AKIAQ7ZXN4TBV2WLMK5D") {
			t.Errorf("%s holds the key", name)
		}
	}
	if _, err := os.Stat(filepath.Join(o.Dir, stateName)); err == nil {
		t.Error("the state is left behind")
	}
}

// A secret that was there before is in no prompt, whichever file it stands in; those who only use that file do without it.
func TestSecretsOfOldStayInside(t *testing.T) {
	r := newRepo(t)
	r.commit("Begin the shop with carts and prices", shop)
	r.commit("Talk to the bank", "-- price/bank.go --\npackage price\n\n// Bank is ours.\nconst Bank = \"x\"\n\nconst password = \"k9$Qz!mT7#vLp2xW\"\n")
	r.commit("Give a discount on carts with many items", strings.ReplaceAll(discounted, "price.Discount(sum, 5)", "price.Discount(sum, 5) + len(price.Bank)"))
	r.commit("Call the bank by its whole name", "-- price/bank.go --\npackage price\n\n// Bank is ours.\nconst Bank = \"xyz\"\n\nconst password = \"k9$Qz!mT7#vLp2xW\"\n")
	r.commit("Keep the settings of the shop in a file\n\ntoken: ghp_q8Zt3LmN5vRx7KpW2yBd4FhJ6sGc9TaV1eUo", "-- cart/names.go --\npackage cart\n\n// shorten cuts a name.\nfunc shorten(name string) string { return name[:5] }\n")
	r.commit("Read the settings of the shop at its start", "-- settings.yaml --\naws_key: AKIAQ7ZXN4TBV2WLMK5D\n-- cart/names.go --\npackage cart\n\n// shorten cuts a name.\nfunc shorten(name string) string { return name[:6] }\n")
	o := r.options(t.TempDir())
	m, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if m.Used != 1 || m.Reasons[Secret] != 4 {
		t.Errorf("%d used, %d hold secrets: %+v", m.Used, m.Reasons[Secret], m.Reasons)
	}
	for name, text := range contents(t, o.Dir) {
		for _, secret := range []string{"k9$Qz", "ghp_q8Zt", "AKIAQ7"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
	}
}

// long is a history of many commits that make examples.
func long(t *testing.T, n int) *repo {
	r := newRepo(t)
	r.commit("Begin the shop with carts and prices", shop)
	for i := range n {
		r.commit(fmt.Sprintf("Give a discount of %d percent on carts", i), strings.ReplaceAll(discounted, "Discount(sum, 5)", fmt.Sprintf("Discount(sum, %d)", i+6)))
	}
	return r
}

func TestTheSameSeedMakesTheSameBytes(t *testing.T) {
	r := long(t, 20)
	for i := range 12 { // enough to choose among
		r.commit("x", fmt.Sprintf("-- more/discount_%c.go --\npackage more\n\n// Discount%d is one.\nfunc Discount%d() {}\n", 'a'+i, i, i))
	}
	for i := range 10 {
		r.commit(fmt.Sprintf("Give another discount of %d percent on carts", i), strings.ReplaceAll(discounted, "Discount(sum, 5)", fmt.Sprintf("Discount(sum, %d)", i+66)))
	}
	run := func(seed uint64) map[string]string {
		o := r.options(t.TempDir())
		o.Seed = seed
		if _, err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		return contents(t, o.Dir)
	}
	one, again, other := run(1), run(1), run(2)
	if !reflect.DeepEqual(one, again) {
		t.Error("the same seed made something else")
	}
	for name := range one {
		drawn := name == "scope.jsonl" || name == manifestName
		if (one[name] == other[name]) == drawn {
			t.Errorf("%s: the same with another seed: %v", name, one[name] == other[name])
		}
	}
}

// However often a run is stopped, and wherever, in the end there is what there would have been.
func TestARunThatWasStoppedIsTakenUp(t *testing.T) {
	r := long(t, 250)
	o := r.options(t.TempDir())
	whole, err := Run(t.Context(), o)
	if err != nil || whole.Used != 250 {
		t.Fatal(whole.Used, err)
	}
	want := contents(t, o.Dir)
	o = r.options(t.TempDir())
	stops := 0
	for {
		ctx, stop := context.WithCancel(t.Context())
		steps := 0
		o.Progress = func(p Progress) {
			if steps++; p.Done < p.Total {
				stop()
			}
		}
		_, err := Run(ctx, o)
		stop()
		if err == nil {
			break
		}
		if _, err := os.Stat(filepath.Join(o.Dir, manifestName)); err == nil {
			t.Fatal("it was stopped, and there is a manifest")
		}
		// What a kill leaves: lines that no checkpoint knows, and half of one.
		f, err := os.OpenFile(filepath.Join(o.Dir, "scope.jsonl.partial"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, "{\"id\":\"half a li")
		f.Close()
		if stops++; stops > 100 {
			t.Fatal("it gets nowhere")
		}
		if stops == 1 { // what is committed meanwhile is for another time
			r.commit("Give a discount to all who ask for one", "-- mail/ask.go --\npackage mail\n")
		}
	}
	if stops == 0 {
		t.Error("it was never stopped")
	}
	if d := cmp.Diff(want, contents(t, o.Dir)); d != "" {
		t.Errorf("after %d stops:\n%.2000s", stops, d)
	}
}

func TestFoldersThatAreRefused(t *testing.T) {
	r := long(t, 3)
	o := r.options(t.TempDir())
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrComplete) {
		t.Errorf("a complete folder: %v", err)
	}
	o = r.options(t.TempDir())
	if err := os.WriteFile(filepath.Join(o.Dir, "thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrForeign) {
		t.Errorf("a folder of others: %v", err)
	}
	stopped := func() Options {
		o := r.options(t.TempDir())
		head, _, _ := o.Repo.Head(t.Context())
		o.Stages = Stages()
		b, err := openBook(o, head)
		if err != nil {
			t.Fatal(err)
		}
		b.close()
		return o
	}
	o = stopped()
	o.Seed = 7
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "--seed 1") {
		t.Errorf("another seed: %v", err)
	}
	o = stopped()
	if err := os.WriteFile(filepath.Join(o.Dir, stateName), []byte(`{"plan":`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrDamaged) {
		t.Errorf("half a state: %v", err)
	}
}

func TestMaxAndSinceAndStages(t *testing.T) {
	r := long(t, 9)
	o := r.options(t.TempDir())
	o.Max, o.Stages = 4, []training.Stage{training.ExecuteCode}
	m, err := Run(t.Context(), o)
	if err != nil || m.Used != 4 || m.Files[training.ExecuteCode].Examples != 4 || len(m.Files) != 1 {
		t.Errorf("%+v %v", m, err)
	}
	if got := examples(t, o.Dir, training.ExecuteCode); !strings.Contains(got[0].Completion, "Discount(sum, 14)") {
		t.Errorf("the newest is not the first:\n%s", got[0].Completion)
	}
	o = r.options(t.TempDir())
	o.Since = examples(t, func() string { return firstRun(t, r) }(), training.Scope)[0].Origin.At.AddDate(1, 0, 0)
	if m, err = Run(t.Context(), o); err != nil || m.Commits != 0 {
		t.Errorf("%d commits since a year later, %v", m.Commits, err)
	}
}

func firstRun(t *testing.T, r *repo) string {
	o := r.options(t.TempDir())
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o.Dir
}

func TestHistoriesThatEndEarly(t *testing.T) {
	r := long(t, 5)
	shallow := &repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: r.env}
	r.git("clone", "-q", "--depth", "3", "file://"+r.dir, shallow.dir)
	o := shallow.options(t.TempDir())
	m, err := Run(t.Context(), o)
	if err != nil || m.Used != 2 || m.Reasons[NoParent] != 1 || !m.Shallow {
		t.Errorf("a shallow clone: %+v %v", m, err)
	}
	empty := newRepo(t)
	o = empty.options(t.TempDir())
	if _, err := Run(t.Context(), o); !errors.Is(err, git.ErrNoCommits) {
		t.Errorf("no commits: %v", err)
	}
	shallow.git("config", "remote.origin.promisor", "true")
	if _, err := Run(t.Context(), shallow.options(t.TempDir())); !errors.Is(err, ErrPartial) {
		t.Errorf("a partial clone: %v", err)
	}
}

func FuzzOfMessage(f *testing.F) {
	f.Add("fix(parser): empty headings end the batch (#12)\n\nThis reverts commit 0123456789.")
	f.Add("\n\n\x00: `a.b()` x/y.go::Z")
	f.Fuzz(func(t *testing.T, message string) {
		_ = ofMessage(message)
		if task := taskOf(message); len([]rune(task)) > maxTask {
			t.Errorf("%d characters", len([]rune(task)))
		}
		_, _ = keywords(message), spoken(message)
		_ = words(bareCode(message, true))
	})
}
