package routing

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/internal/condition"
)

// The documentation lists exactly the names that each rule can use, and its examples work.
func TestNamesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/team-mode.md")
	if err != nil {
		t.Fatal(err)
	}
	_, doc, ok := strings.Cut(string(text), "### Your own rules\n")
	if !ok {
		t.Fatal("docs/team-mode.md has no section on own rules")
	}
	doc, _, _ = strings.Cut(doc, "\n## ")
	for rule, want := range map[string][]string{
		"score": condition.Names[ScoreFact](), "team": condition.Names[TeamFact](), "class": condition.Names[ClassFact](),
	} {
		_, table, ok := strings.Cut(doc, "| `"+rule+"` | what it is |\n|---|---|\n")
		if !ok {
			t.Fatalf("%s has no table", rule)
		}
		table, _, _ = strings.Cut(table, "\n\n")
		var got []string
		for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| \\S.* \\|$").FindAllStringSubmatch(table, -1) {
			got = append(got, m[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", rule, diff)
		}
	}
	examples := regexp.MustCompile("`(score|team|class) = [\"'](.*)[\"']`").FindAllStringSubmatch(doc, -1)
	if len(examples) != 3 {
		t.Fatalf("%d examples", len(examples))
	}
	r := DefaultRules()
	for _, m := range examples {
		*map[string]*string{"score": &r.Score, "team": &r.Team, "class": &r.Class}[m[1]] = m[2]
	}
	d := decided(t, wide(4), Options{Rules: r, TeamsEnabled: true, Memory: machine(64)})
	if d.Mode != Team || d.Score.Value != 100 || d.Steps[0].Class != Implementation {
		t.Errorf("%s, score %d, %s", d.Mode, d.Score.Value, d.Steps[0].Class)
	}
}

// The error about an invalid rule starts with the key of the setting and ends with the valid names.
func TestRuleErrorsNameKey(t *testing.T) {
	for want, change := range map[string]func(*Rules){
		`routing.score: expression "\"a\"": gives text, but must give a number`: func(
			r *Rules) {
			r.Score = `"a"`
		},
		`routing.score: expression "zz": unknown name zz (1:1); names are s, m, w, z, g, o, h, p`: func(
			r *Rules) {
			r.Score = "zz"
		},
		`routing.team: condition "g > 1": unknown name g (1:1); names are score, threshold, teams, `: func(
			r *Rules) {
			r.Team = "g > 1"
		},
		`routing.class: expression "z": unknown name z (1:1); names are creates, modifies, tests, `: func(
			r *Rules) {
			r.Class = "z"
		},
		`routing.class: expression "title" gives "Part 1" for batch 1; classes are implementation, verifica`: func(
			r *Rules) {
			r.Class = "title"
		},
	} {
		r := DefaultRules()
		change(&r)
		if _, err := Decide(parsed(t, wide(2)), Options{Rules: r}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
		if key, _ := r.Check(); key != "" && !strings.HasPrefix(want, key+":") {
			t.Errorf("the error about %s names the key %s", want, key)
		} else if key == "" && !strings.Contains(want, "for batch") {
			t.Errorf("the check of the rules accepts what gives %s", want)
		}
	}
}
