package retrieve

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Files that are newer than the index get the rank that they would have in it, and the places of their present text.
func TestChangedFilesRankAsIndexed(t *testing.T) {
	b := goBench(t)
	const task = "Total sums the prices of a cart, and mail is sent"
	before, err := Rank(t.Context(), b.deps(), b.request(task))
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, r := range before {
		paths[r.Path] = true
	}
	for path := range paths {
		b.write(path, b.read(path)+"\n")
	}
	after, err := Rank(t.Context(), b.deps(), b.request(task))
	if err != nil {
		t.Fatal(err)
	}
	if len(before) < 5 || len(after) != len(before) {
		t.Fatalf("%d chunks before, %d after", len(before), len(after))
	}
	for i, was := range before {
		is := after[i]
		if is.Path != was.Path || is.Start != was.Start || is.Label != was.Label || math.Abs(is.Score-was.Score) > 0.01 {
			t.Errorf("%d: %s:%d %q %.3f, was %s:%d %q %.3f", i, is.Path, is.Start, is.Label, is.Score, was.Path, was.Start,
				was.Label, was.Score)
		}
	}
}

func TestNewAndDeletedFiles(t *testing.T) {
	b := goBench(t)
	b.write("coupon/coupon.go", "package coupon\n\n// Redeem takes a coupon.\nfunc Redeem(code string) bool { return code != \"\" }\n")
	b.git("rm", "-q", "mail/mail.go")
	ranked, err := Rank(t.Context(), b.deps(), b.request("Redeem a coupon by mail"))
	if err != nil {
		t.Fatal(err)
	}
	if len(ranked) == 0 || ranked[0].Path != "coupon/coupon.go" || !strings.Contains(ranked[0].Label, "Redeem") {
		t.Errorf("%+v", ranked[:min(1, len(ranked))])
	}
	if slices.ContainsFunc(ranked, func(r Ranked) bool { return r.Path == "mail/mail.go" }) {
		t.Error("a deleted file is ranked")
	}
}
