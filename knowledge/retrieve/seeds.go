package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/store"
)

// has reports whether a file is already in scope.
func (s *State) has(path string) bool {
	return slices.ContainsFunc(s.Files, func(f File) bool { return f.Path == path })
}

// add adds a file to the scope, in the first tier in which it is found.
func (s *State) add(f store.File, tier int, sure bool, why string, args ...any) {
	if !s.has(f.Path) {
		s.Files = append(s.Files, File{f.ID, f.Path, f.Language, f.Hash, tier, fmt.Sprintf(why, args...), sure})
	}
}

// seedPlan adds the files that the plan names (RETR-08).
func (p *pass) seedPlan(ctx context.Context, s *State) error {
	for _, name := range p.req.Files {
		f, found, why, err := p.names.file(ctx, name)
		if err != nil {
			return err
		}
		if !found {
			s.NotFound = append(s.NotFound, name)
			p.note("the plan names %s: %s", name, why)
			continue
		}
		s.add(f, 0, true, "the plan names it")
	}
	return nil
}

// seed finds the initial files of scope: those of the plan, those that the task names, and those with a symbol that
// the task names (RETR-06, RETR-08).
func (p *pass) seed(ctx context.Context, s *State) error {
	if err := p.seedPlan(ctx, s); err != nil {
		return err
	}
	for _, f := range s.Query.Files {
		file := p.names.at(f.Path)
		if f.Line > 0 {
			s.add(file, 1, true, "the task names its line %d", f.Line)
		} else {
			s.add(file, 1, true, "the task names it")
		}
	}
	p.seedSymbols(s, s.Query.Symbols, true, "the task names `%s`")
	for _, name := range s.Query.Suggested {
		found, err := p.symbols(ctx, name)
		if err != nil {
			return err
		}
		p.seedSymbols(s, found, false, "the task does not name `%s`, but may need it")
	}
	if len(s.Files) > 0 {
		return nil
	}
	return p.standIns(ctx, s)
}

// seedSymbols adds the files that have a symbol. A name in many files is little evidence. If the task also names
// one of these files, only that one is added. Otherwise the first ones without tests are offered to the model, which
// may reject them.
func (p *pass) seedSymbols(s *State, symbols []SymbolNamed, sure bool, why string) {
	byName := map[string][]string{}
	var order []string
	for _, sym := range symbols {
		if byName[sym.As] == nil {
			order = append(order, sym.As)
		}
		byName[sym.As] = lists.Add(byName[sym.As], sym.Path)
	}
	for _, name := range order {
		paths := byName[name]
		slices.SortStableFunc(paths, func(a, b string) int {
			return cmp.Or(cmp.Compare(strconv.FormatBool(language.IsTest(a)), strconv.FormatBool(language.IsTest(b))),
				cmp.Compare(a, b))
		})
		certain := sure
		if len(paths) > symbolFiles && slices.ContainsFunc(paths, s.has) {
			paths = slices.DeleteFunc(paths, func(path string) bool { return !s.has(path) })
		}
		if len(paths) > symbolFiles {
			p.note("`%s` occurs in %d files; the first %d count, if the model finds them relevant", name, len(paths),
				symbolFiles)
			paths, certain = paths[:symbolFiles], false
		}
		for _, path := range paths {
			s.add(p.names.at(path), 1, certain, why, name)
		}
	}
}

// standIns finds files by words in their path or symbols if the task names nothing. Rare words count more. The model
// may reject these files.
func (p *pass) standIns(ctx context.Context, s *State) error {
	const most, worth = 8, 100
	score := map[string]int{}
	words := map[string][]string{}
	for _, k := range s.Query.Keywords {
		hit := map[string]int{}
		for name := range p.names.files {
			if hasWord(strings.TrimSuffix(name, path.Ext(name)), k) {
				hit[name] = 3
			}
		}
		found, err := p.Base.SymbolsByName(ctx, p.Repo, "*"+glob(Stem(k))+"*")
		if err != nil {
			return err
		}
		for _, sym := range found {
			if hasWord(sym.Name, k) {
				hit[sym.Path] = max(hit[sym.Path], 1)
			}
		}
		for name, n := range hit {
			gain := n * worth / len(hit)
			if language.IsTest(name) && s.Query.Kind != Testing {
				gain /= 3 // a test contains many words of the code that it tests
			}
			score[name] += gain
			words[name] = append(words[name], k)
		}
	}
	var paths []string
	for name, n := range score {
		if n > 0 {
			paths = append(paths, name)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b)) })
	for _, name := range paths[:min(most, len(paths))] {
		s.add(p.names.at(name), 1, false, "it has words of the task: %s", strings.Join(words[name], ", "))
	}
	if len(paths) > 0 {
		p.note("the task names no file and no symbol; %d files with its words are used instead", min(most, len(paths)))
	} else {
		p.note("the task names nothing in the repository")
	}
	return nil
}

// hasWord reports whether a name contains a word, in singular or plural.
func hasWord(name, word string) bool {
	return slices.ContainsFunc(Humps(name), func(h string) bool { return Stem(h) == Stem(word) })
}

// Stem returns a word without a plural ending.
func Stem(word string) string {
	if len(word) > 3 && !strings.HasSuffix(word, "ss") {
		return strings.TrimSuffix(word, "s")
	}
	return word
}

// glob returns a pattern that matches a word with an upper-case or lower-case first letter.
func glob(word string) string {
	r := []rune(word)
	first := string(r[:1])
	if strings.ContainsAny(word, "*?[]") {
		return word
	}
	return "[" + strings.ToUpper(first) + first + "]" + string(r[1:])
}
