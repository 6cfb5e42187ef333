package planparse

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	headingLine = regexp.MustCompile(`^(#{1,6})([ \t]+)(.*)$`)
	unitNumber  = regexp.MustCompile(`^(\W*)(\pL+)( )(\d+)`)
	keyLine     = regexp.MustCompile(`^(\w+_\w+):`)
)

// foreign maps keywords to other languages.
var foreign = map[string]string{"Task": "Aufgabe", "Batch": "批次", "Phase": "Фаза", "Step": "Paso"}

// mutation changes one thing in a plan, as a person may do by mistake. ok is false if it changes nothing.
type mutation struct {
	name string
	do   func(r *rand.Rand, lines []string) (out []string, ok bool)
}

// onHeading applies change to a random heading outside of fences.
func onHeading(change func(r *rand.Rand, line string) string) func(*rand.Rand, []string) ([]string, bool) {
	return func(r *rand.Rand, lines []string) ([]string, bool) {
		var at []int
		for i, l := range lines {
			if headingLine.MatchString(l) {
				at = append(at, i)
			}
		}
		if len(at) == 0 {
			return nil, false
		}
		i := at[r.IntN(len(at))]
		now := change(r, lines[i])
		if now == lines[i] {
			return nil, false
		}
		lines[i] = now
		return lines, true
	}
}

var mutations = []mutation{
	{"drop a #", onHeading(func(_ *rand.Rand, l string) string { return l[1:] })},
	{"no blank behind #", onHeading(
		func(_ *rand.Rand, l string) string { return headingLine.ReplaceAllString(l, "$1$3") })},
	{"misspell the keyword", onHeading(func(r *rand.Rand, l string) string {
		m := unitNumber.FindStringSubmatchIndex(strings.TrimLeft(l, "# \t"))
		if m == nil {
			return l
		}
		from := len(l) - len(strings.TrimLeft(l, "# \t")) + m[4]
		word := []rune(l[from : from+m[5]-m[4]])
		i := r.IntN(len(word) - 1)
		word[i], word[i+1] = word[i+1], word[i]
		return l[:from] + string(word) + l[from+m[5]-m[4]:]
	})},
	{"number as a word", onHeading(func(_ *rand.Rand, l string) string {
		head := strings.TrimLeft(l, "# \t")
		return l[:len(l)-len(head)] + unitNumber.ReplaceAllString(head, "${1}${2} two")
	})},
	{"double a number", onHeading(func(_ *rand.Rand, l string) string {
		head := strings.TrimLeft(l, "# \t")
		return l[:len(l)-len(head)] + unitNumber.ReplaceAllString(head, "${1}${2} 1")
	})},
	{"another language", onHeading(func(_ *rand.Rand, l string) string {
		for word, other := range foreign {
			if i := strings.Index(l, word+" "); i >= 0 {
				return l[:i] + other + l[i+len(word):]
			}
		}
		return l
	})},
	{"a tab in front", onHeading(func(_ *rand.Rand, l string) string { return "\t" + l })},
	{"a tab behind #", onHeading(
		func(_ *rand.Rand, l string) string { return headingLine.ReplaceAllString(l, "$1\t$3") })},
	{"misspell a key", func(r *rand.Rand, lines []string) ([]string, bool) {
		for _, i := range r.Perm(len(lines)) {
			if m := keyLine.FindStringSubmatch(lines[i]); m != nil {
				lines[i] = m[1][1:] + lines[i][len(m[1]):]
				return lines, true
			}
		}
		return nil, false
	}},
	{"an open fence", func(r *rand.Rand, lines []string) ([]string, bool) {
		i := r.IntN(len(lines) + 1)
		return append(lines[:i:i], append([]string{"```"}, lines[i:]...)...), true
	}},
	{"a fence without its end", func(r *rand.Rand, lines []string) ([]string, bool) {
		for _, i := range r.Perm(len(lines)) {
			if strings.TrimSpace(lines[i]) == "```" {
				return append(lines[:i:i], lines[i+1:]...), true
			}
		}
		return nil, false
	}},
	{"CRLF", func(_ *rand.Rand, lines []string) ([]string, bool) {
		for i := range lines {
			lines[i] += "\r"
		}
		return lines, true
	}},
	{"tabs for blanks", func(r *rand.Rand, lines []string) ([]string, bool) {
		for i, l := range lines {
			lines[i] = strings.ReplaceAll(l, "    ", "\t")
		}
		return lines, true
	}},
}

// If a typing error loses a task, batch, dependency or reference, the parser reports a diagnostic that the plan did
// not have before, and it never panics. MUTATIONS sets the number of changes per plan, and SEED the random seed.
func TestParseReportsLostTasks(t *testing.T) {
	times := 250
	if testing.Short() {
		times = 20
	}
	if s := os.Getenv("MUTATIONS"); s != "" {
		fmt.Sscan(s, &times)
	}
	seed := uint64(7)
	if s := os.Getenv("SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	for _, f := range corpus(t) {
		src, err := os.ReadFile(filepath.Join(corpusDir(), f.path))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			t.Parallel()
			mutate(t, f.path, string(src), times, seed)
		})
	}
}

// stated counts the dependencies and the context references that batches state.
func stated(p *Plan) int {
	n := 0
	for _, b := range p.Batches {
		n += len(b.DependsOn) + len(b.ContextRefs)
	}
	return n
}

func mutate(t *testing.T, name, src string, times int, seed uint64) {
	before, err := Parse(name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	for _, d := range before.Diagnostics {
		said[d.Code]++
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(src))))
	failed := map[string]bool{}
	seen := map[string]bool{}
	for range times {
		m := mutations[r.IntN(len(mutations))]
		lines, ok := m.do(r, strings.Split(src, "\n"))
		if !ok {
			continue
		}
		text := strings.Join(lines, "\n")
		if seen[text] {
			continue
		}
		seen[text] = true
		after, err := Parse(name, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		if after.Counts.Tasks >= before.Counts.Tasks && after.Counts.Batches >= before.Counts.Batches &&
			stated(after) >= stated(before) {
			continue
		}
		told := false
		count := map[string]int{}
		for _, d := range after.Diagnostics {
			count[d.Code]++
			told = told || count[d.Code] > said[d.Code]
		}
		if !told && !failed[m.name] {
			failed[m.name] = true
			for i, l := range strings.Split(src, "\n") {
				if i < len(lines) && lines[i] != l {
					t.Errorf("%s: %d tasks in %d batches become %d in %d, and nothing says so: line %d: %q becomes %q", m.name,
						before.Counts.Tasks, before.Counts.Batches,
						after.Counts.Tasks, after.Counts.Batches, i+1, l, lines[i])
					break
				}
			}
		}
	}
}
