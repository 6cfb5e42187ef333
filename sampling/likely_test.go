package sampling

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The probability follows from the parameters by Bayes' rule; the cases are computed by hand.
func TestLikelyIsPosterior(t *testing.T) {
	m := Model{Prior: 0.4, Sound: 0.7, Held: 0.9, Agree: 0.8, Catch: 0.75, Repeat: 0.5, Wrong: 0.1, Chance: 0.2,
		Still: 0.05}
	held := func(pass bool) []author { return []author{{number: 0, tests: 4, passes: []bool{pass}}} }
	posterior := func(right, wrong float64) float64 { return right / (right + wrong) }
	missed := 0.25 * 0.25 // (1-Catch) to the power of 4 to the power of Repeat
	for name, c := range map[string]struct {
		authors []author
		still   bool
		want    float64
	}{
		"no tests":                      {nil, false, 0.4},
		"it behaves like the base":      {nil, true, posterior(0.4*0.05, 0.6)},
		"it passes four held-out tests": {held(true), false, posterior(0.4*(0.9*0.8+0.1*0.1), 0.6*(0.9*missed+0.1*0.2))},
		"it fails them":                 {held(false), false, posterior(0.4*(0.9*0.2+0.1*0.9), 0.6*(0.9*(1-missed)+0.1*0.8))},
		"its own tests say nothing":     {[]author{{number: 1, tests: 1, passes: []bool{true}}}, false, 0.4},
	} {
		if got := m.likely([]int{1}, c.authors, []bool{c.still}); math.Abs(got[0]-c.want) > 1e-9 {
			t.Errorf("%s: %.4f, want %.4f", name, got[0], c.want)
		}
	}
}

func TestStillCandidatesBehaveLikeBase(t *testing.T) {
	for name, c := range map[string]struct {
		tests []CrossTest
		want  []bool
	}{
		"one makes a failing test pass":    {[]CrossTest{{Passes: []int{1}}}, []bool{false, true}},
		"one breaks a test of the base":    {[]CrossTest{{Base: true, Passes: []int{2}}}, []bool{false, true}},
		"all behave like the base":         {[]CrossTest{{Base: true, Passes: []int{1, 2}}, {}}, []bool{false, false}},
		"none does":                        {[]CrossTest{{Passes: []int{1, 2}}}, []bool{false, false}},
		"there are no tests to compare by": {nil, []bool{false, false}},
	} {
		if got := still([]int{1, 2}, c.tests); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestFencesOfForeignText(t *testing.T) {
	tildes := strings.Repeat("~", longestFence)
	for text, want := range map[string]string{
		"a\tb\nc": "a\tb\nc", "a\x00\x1b[1m\x7f\u0080\u009fb": "ab", "a\u00a0b\u0085": "a\u00a0b", "\n\na\r\nb\n": "a\nb",
		tildes: tildes, tildes + "~~": tildes, tildes + "~ ~": tildes + " ~", "a\xffb": "a\ufffdb",
	} {
		if got := clean(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestUnwritableStoreIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Store{Path: filepath.Join(file, "outcomes.json")}
	if err := s.Append(outcome("r", 1)); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("outcomes below a file: %v", err)
	}
	late := outcome("r", 1)
	late.Timestamp = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := (Store{Path: file + "s.json"}).Append(late); err == nil || !strings.Contains(err.Error(), "add to "+file) {
		t.Errorf("a time that JSON cannot contain: %v", err)
	}
	s.Path = file + ".json"
	if err := os.Mkdir(s.Path+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(outcome("r", 1)); err == nil || !strings.Contains(err.Error(), "take the lock") {
		t.Errorf("without a lock: %v", err)
	}
}
