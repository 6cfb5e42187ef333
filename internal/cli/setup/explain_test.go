package setup

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/planparse"
)

// pages returns all pages of explain by their code.
func pages(t *testing.T) map[string]explanation {
	t.Helper()
	all, err := explanations()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]explanation{}
	for _, e := range all {
		if by[e.Code].Code != "" {
			t.Errorf("two pages explain %s", e.Code)
		}
		by[e.Code] = e
	}
	return by
}

// Each code that the product prints has a page (EXPL-01).
func TestEachCodeHasPage(t *testing.T) {
	by := pages(t)
	for _, e := range cli.ErrorCodes() {
		if by[e.Code].Group != "Errors" {
			t.Errorf("no page explains the error %s (%v)", e.Code, e.Err)
		}
	}
	var files []string
	for _, pattern := range []string{"planparse/*.go", "routing/*.go", "internal/cli/plans/check.go"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	printed, seen := regexp.MustCompile(`(?:\b(?:warn|report|advise)\((?:[^"\n]*?,\s*)?|Code:\s*)"([a-z]+(?:-[a-z0-9]+)*)"`),
		map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range printed.FindAllStringSubmatch(string(text), -1) {
			seen[m[1]] = true
			if by[m[1]].Group != "Plans" {
				t.Errorf("%s prints %s, and no page explains it", filepath.Base(file), m[1])
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d codes were found in the source", len(seen))
	}
	for code, e := range by {
		if e.Group == "Plans" && !seen[code] {
			t.Errorf("no code %s is printed any more", code)
		}
	}
}

// Each code of a refusal in the source has a page, and each page of a refusal has a code that is used (EXPL-03).
func TestRefusalCodesMatchPages(t *testing.T) {
	given := map[string]bool{}
	named := regexp.MustCompile(`\bNamed\(\s*"([^"]*)"`)
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			given[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, e := range cli.ErrorCodes() {
		if e.Err != nil {
			continue
		}
		listed[e.Code] = true
		if !given[e.Code] {
			t.Errorf("no refusal has the code %s", e.Code)
		}
	}
	for code := range given {
		if !listed[code] {
			t.Errorf("a refusal has the code %s, and cli.ErrorCodes does not list it", code)
		}
	}
}

// Each page says what was found and what to do, and that of a rule how severe it is and how to turn it off (EXPL-01).
func TestEachPageStatesRemedy(t *testing.T) {
	for code, e := range pages(t) {
		if e.What == "" || strings.TrimSpace(e.Do) == "" {
			t.Errorf("%s: what %q, do %q", code, e.What, e.Do)
		}
		if e.Group != "Errors" && e.Group != "Plans" && (e.Off == "" || e.Level == "") {
			t.Errorf("%s: off %q, level %q", code, e.Off, e.Level)
		}
	}
}

// The example of a page about plans is a plan that causes the code of the page (EXPL-02).
func TestPageExamplesCauseTheirCode(t *testing.T) {
	tried := 0
	for code, e := range pages(t) {
		_, text, ok := strings.Cut(e.Text, "\nExample:\n\n")
		if !ok {
			continue
		}
		tried++
		plan, err := planparse.Parse("plan.md", []byte(strings.ReplaceAll("\n"+text, "\n    ", "\n")))
		if err != nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		var codes []string
		for _, d := range plan.Diagnostics {
			codes = append(codes, d.Code)
		}
		for _, a := range planparse.Check(plan).Advice {
			codes = append(codes, a.Code)
		}
		if !slices.Contains(codes, code) {
			t.Errorf("%s: its example says %q", code, codes)
		}
	}
	if tried < 10 {
		t.Errorf("only %d examples", tried)
	}
}

// The code of a finding leads to the page of the rule that covers it.
func TestFindExplanation(t *testing.T) {
	all, err := explanations()
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{
		"secrets/aws-access-key": "secrets/*", "tamper/snapshot": "tamper/snapshot", "0001": "lesson/0001",
		"link-outside": "link-outside", "types/attr-defined": "types/*", "async/blocking": "async/*", "SC2086": "SC*",
		"missing-test": "missing-test", "flaky": "flaky", "plan/expected": "plan/expected", "empty-fix": "empty-fix",
		"mutant-survived": "mutant-survived", "blueprint/raw-http": "blueprint/raw-http", "prose/left-out": "prose/left-out",
		"empty-catch": "pattern/empty-catch",
		"run-locked":  "run-locked", "secrets/": "", "nothing": "",
	} {
		if e, _ := findExplanation(all, asked); e.Code != want {
			t.Errorf("%s leads to %q, not %q", asked, e.Code, want)
		}
	}
}
