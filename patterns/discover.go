package patterns

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
)

//go:embed facts/*.yml
var factFiles embed.FS

// Limits of [Discover] for each language. In a larger code base it reads a sample, always the same files.
const (
	sampleFiles = 600
	sampleBytes = 6 << 20
	styleText   = 2000 // bytes of [Style.Text]
	mostCounts  = 6    // of a list
)

// Style describes how a code base is written, so that new code can look like existing code.
type Style struct {
	Languages []LanguageStyle `json:"languages"`
	Note      string          `json:"note,omitempty"` // what was skipped, and why
	Skipped   []Skip          `json:"skipped,omitempty"`
}

// LanguageStyle is the style of the files in one language.
type LanguageStyle struct {
	Language  string  `json:"language"`
	Files     int     `json:"files"`
	Looked    int     `json:"looked"` // fewer than Files after sampling
	Errors    []Count `json:"errors"`
	Tests     []Count `json:"tests"`
	Functions Sizes   `json:"functions"`
	Imports   []Count `json:"imports"`
}

// Count is the number of uses of something.
type Count struct {
	What string `json:"what"`
	N    int    `json:"n"`
}

// Sizes describes the distribution of function lengths, in lines.
type Sizes struct {
	Count  int `json:"count"`
	Median int `json:"median"`
	P90    int `json:"p90"`
	Max    int `json:"max"`
}

// Discover describes the code in dir: error handling, tests, length of functions and imports, in Go, Python,
// TypeScript and JavaScript. Go is read without ast-grep; if p is the zero Program, the other languages are skipped
// and the Note says so. The same tree gives the same answer.
func Discover(ctx context.Context, p Program, dir string, env []string) (Style, error) {
	files, skipped, err := Files(ctx, env, dir)
	if err != nil {
		return Style{}, err
	}
	by := map[string][]string{}
	for _, f := range files {
		l := languageOf(f)
		if l == "tsx" {
			l = "typescript"
		}
		by[l] = append(by[l], f)
	}
	s := Style{Languages: []LanguageStyle{}, Skipped: skipped}
	for _, lang := range []string{"go", "python", "typescript", "javascript"} {
		all := by[lang]
		if len(all) == 0 {
			continue
		}
		if lang != "go" && !p.Found() {
			s.Note = MissingNote
			continue
		}
		c := counter{errors: map[string]int{}, tests: map[string]int{}, imports: map[string]int{}}
		look := sample(dir, all)
		if lang == "go" {
			err = c.golang(ctx, dir, look)
		} else {
			err = c.facts(ctx, p, dir, lang, look, &s.Skipped)
		}
		if err != nil {
			return Style{}, fmt.Errorf("read the style of the %s files: %w", lang, err)
		}
		if c.files > 0 {
			s.Languages = append(s.Languages, c.style(lang, len(all)))
		}
	}
	slices.SortFunc(s.Skipped, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
	s.Skipped = slices.Compact(s.Skipped)
	return s, nil
}

// sample takes files at equal distances, so that each part of the tree is represented.
func sample(dir string, all []string) []string {
	var fit []string
	size := int64(0)
	for _, f := range all {
		fi, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(f)))
		if err == nil && fi.Mode().IsRegular() && fi.Size() <= sampleBytes/20 {
			fit = append(fit, f)
			size += fi.Size()
		}
	}
	n := min(len(fit), sampleFiles)
	if size > sampleBytes {
		n = min(n, int(int64(len(fit))*sampleBytes/size))
	}
	out := make([]string, n)
	for i := range n {
		out[i] = fit[i*len(fit)/n]
	}
	return out
}

// counter counts the constructs of one language.
type counter struct {
	files                  int
	errors, tests, imports map[string]int
	lengths                []int
}

func (c *counter) style(language string, files int) LanguageStyle {
	s := LanguageStyle{
		Language: language, Files: files, Looked: c.files,
		Errors: most(c.errors), Tests: most(c.tests), Imports: most(c.imports),
	}
	if n := len(c.lengths); n > 0 {
		slices.Sort(c.lengths)
		s.Functions = Sizes{Count: n, Median: c.lengths[n/2], P90: c.lengths[min(n-1, int(math.Ceil(0.9*float64(n)))-1)],
			Max: c.lengths[n-1]}
	}
	return s
}

// most lists the most frequent constructs.
func most(counts map[string]int) []Count {
	all := []Count{}
	for what, n := range counts {
		all = append(all, Count{what, n})
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(b.N-a.N, strings.Compare(a.What, b.What)) })
	return all[:min(len(all), mostCounts)]
}

// Text returns the style for a brief, "" if there is nothing to say.
func (s Style) Text() string {
	if len(s.Languages) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Codebase style: ")
	for i, l := range s.Languages {
		if i > 0 {
			b.WriteString("\n")
		}
		files := phrase.Count(l.Files, "file")
		if l.Looked < l.Files {
			files += fmt.Sprintf(", %d read", l.Looked)
		}
		fmt.Fprintf(&b, "%s (%s).", l.Language, files)
		part := func(name string, counts []Count) {
			if len(counts) == 0 {
				return
			}
			words := phrase.Join(counts, ", ", func(c Count) string { return fmt.Sprintf("%s (%d)", c.What, c.N) })
			fmt.Fprintf(&b, " %s: %s.", name, words)
		}
		part("Errors", l.Errors)
		part("Tests", l.Tests)
		if f := l.Functions; f.Count > 0 {
			fmt.Fprintf(&b, " Functions: %d, in lines the median is %d, nine in ten have at most %d, the longest %d.", f.Count,
				f.Median, f.P90, f.Max)
		}
		part("Imports", l.Imports)
	}
	return phrase.Fit(b.String(), styleText)
}
