package trust

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOwnerFileRoundTrips(t *testing.T) {
	for name, o := range map[string]Owner{
		"new": {Owner: "ada", Channel: "cli", Audit: digest("a")},
		"all": {Owner: `Ada "the" Ω\L`, Channel: "ada@example.org", Tier: 5, SelfEdit: true, MergeBar: 85,
			Audit: digest("b"), Repos: []RepoBinding{{"/a b/c", 1}, {"/d", 0}}},
		"quote": {Owner: `'''"""`, Channel: "#x = 1", Tier: 3, Audit: digest("c")},
	} {
		data, err := o.Encode()
		if err != nil {
			t.Fatal(name, err)
		}
		back, err := ParseOwner(data)
		if d := cmp.Diff(o, back); d != "" || err != nil {
			t.Errorf("%s: %s %v\n%s", name, d, err, data)
		}
		if !strings.HasPrefix(string(data), "# The owner of this runplan") {
			t.Errorf("%s: it does not say what it is:\n%s", name, data)
		}
	}
}

func digest(s string) string { return Digest([]Executable{{What: s}}) }

func TestParseOwnerRejectsInvalidFiles(t *testing.T) {
	good := "owner = \"ada\"\nchannel = \"cli\"\ntier = 5\naudit = \"" + digest("a") + "\"\n"
	if _, err := ParseOwner([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty":                             "",
		"no TOML":                           "owner = ",
		"an unknown key":                    good + "max_tir = 1\n",
		"an unknown key of a repo":          good + "[[repo]]\nroot = \"/a\"\nmax_tir = 1\n",
		"a tier too high":                   strings.Replace(good, "5", "6", 1),
		"a tier below all":                  strings.Replace(good, "5", "-1", 1),
		"a tier that overflows":             strings.Replace(good, "5", "18446744073709551621", 1),
		"a tier that is a text":             strings.Replace(good, "5", `"5"`, 1),
		"a tier that is not a whole number": strings.Replace(good, "5", "4.9", 1),
		"two tiers":                         good + "tier = 1\n",
		"no owner":                          strings.Replace(good, "ada", " ", 1),
		"an owner with a bell":              strings.Replace(good, "ada", `a\u0007da`, 1),
		"an owner written backwards":        strings.Replace(good, "ada", `a\u202eda`, 1),
		"an owner that hides a word":        strings.Replace(good, "ada", `a\u200bda`, 1),
		"an owner with a filler":            strings.Replace(good, "ada", `a\u3164da`, 1),
		"an owner of two lines":             strings.Replace(good, "ada", `a\nda`, 1),
		"an endless owner":                  strings.Replace(good, "ada", strings.Repeat("a", maxName+1), 1),
		"not UTF-8":                         strings.Replace(good, "ada", "a\xffda", 1),
		"no audit":                          strings.Replace(good, "audit", "#", 1),
		"an invalid digest":                 strings.Replace(good, digest("a"), "0", 1),
		"a bar too low":                     good + "auto_merge_confidence_pct = 59\n",
		"a bar too high":                    good + "auto_merge_confidence_pct = 101\n",
		"a bar below its tier":              strings.Replace(good, "5", "4", 1) + "auto_merge_confidence_pct = 90\n",
		"self-edit below its tier":          strings.Replace(good, "5", "3", 1) + "self_edit = true\n",
		"a relative repo":                   good + "[[repo]]\nroot = \"a\"\nmax_tier = 1\n",
		"a repo path that is not clean":     good + "[[repo]]\nroot = \"/a/../b\"\nmax_tier = 1\n",
		"a repo twice": good +
			"[[repo]]\nroot = \"/a\"\nmax_tier = 1\n[[repo]]\nroot = \"/a\"\nmax_tier = 5\n",
		"too much": good + "#" + strings.Repeat(" ", maxOwner),
	} {
		if o, err := ParseOwner([]byte(text)); err == nil {
			t.Errorf("%s: was read as %+v", name, o)
		}
	}
}

// An owner file that can be parsed is encoded and parsed again unchanged, and no content makes the parser panic.
func FuzzParseOwner(f *testing.F) {
	good, err := Owner{Owner: "ada", Channel: "cli", Tier: 5, SelfEdit: true, MergeBar: 60, Audit: digest("a"),
		Repos: []RepoBinding{{"/a", 1}}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("tier = 5"))
	f.Add([]byte("[[repo]]\nroot = \"/\"\nmax_tier = -0x1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ParseOwner(data)
		if err != nil {
			return
		}
		if !o.Tier.Valid() || o.Owner == "" || line(o.Owner) != strings.Join(strings.Fields(o.Owner), " ") {
			t.Fatalf("an invalid file was accepted: %+v", o)
		}
		text, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseOwner(text)
		if d := cmp.Diff(o, back, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Fatal(d, err)
		}
	})
}
