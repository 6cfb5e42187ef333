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
	"github.com/runplan/runplan/internal/store"
)

// has tells whether a file is in scope already.
func (s *State) has(path string) bool {
	return slices.ContainsFunc(s.Files, func(f File) bool { return f.Path == path })
}

// add puts a file into scope, in the tier where it is found first.
func (s *State) add(f store.File, tier int, sure bool, why string, args ...any) {
	if !s.has(f.Path) {
		s.Files = append(s.Files, File{f.ID, f.Path, f.Language, f.Hash, tier, fmt.Sprintf(why, args...), sure})
	}
}

// seed finds the files from which scope starts: those of the plan, those that the task names, and those that have a
// symbol which the task names (RETR-06, RETR-08).
func (p *pass) seed(ctx context.Context, s *State) error {
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
	for _, f := range s.Query.Files {
		file := p.fileOf(f.Path)
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

// fileOf is a file of the index, or one that only the tree has.
func (p *pass) fileOf(path string) store.File {
	if f, ok := p.names.files[path]; ok {
		return f
	}
	return store.File{Path: path, Language: languageOf(path)}
}

// seedSymbols adds the files that have a symbol. A name that stands in many files says little: where one of them is named
// besides, that is meant; else the first ones that hold no test are offered to the model, which may refuse them.
func (p *pass) seedSymbols(s *State, symbols []SymbolNamed, sure bool, why string) {
	byName := map[string][]string{}
	var order []string
	for _, sym := range symbols {
		if byName[sym.As] == nil {
			order = append(order, sym.As)
		}
		if !slices.Contains(byName[sym.As], sym.Path) {
			byName[sym.As] = append(byName[sym.As], sym.Path)
		}
	}
	for _, name := range order {
		paths := byName[name]
		slices.SortStableFunc(paths, func(a, b string) int {
			return cmp.Or(cmp.Compare(strconv.FormatBool(language.IsTest(a)), strconv.FormatBool(language.IsTest(b))), cmp.Compare(a, b))
		})
		certain := sure
		n := p.Limits.SymbolFiles
		if len(paths) > n && slices.ContainsFunc(paths, s.has) {
			paths = slices.DeleteFunc(paths, func(path string) bool { return !s.has(path) })
		}
		if len(paths) > n {
			p.note("`%s` stands in %d files; the first %d count, if the model finds them relevant", name, len(paths), n)
			paths, certain = paths[:n], false
		}
		for _, path := range paths {
			s.add(p.fileOf(path), 1, certain, why, name)
		}
	}
}

// standIns are files whose path or symbols have words of the task, where it names nothing: the rarer the word, the more
// it tells. They are seeds that the model may refuse.
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
				gain /= 3 // a test says a lot of the words of what it tests
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
		s.add(p.fileOf(name), 1, false, "it has words of the task: %s", strings.Join(words[name], ", "))
	}
	if len(paths) > 0 {
		p.note("the task names no file and no symbol; %d files with words of it stand in", min(most, len(paths)))
	} else {
		p.note("the task names nothing that is in the repository")
	}
	return nil
}

// hasWord tells whether a name has a word in it, be it one or many.
func hasWord(name, word string) bool {
	return slices.ContainsFunc(Humps(name), func(h string) bool { return Stem(h) == Stem(word) })
}

// Stem is a word without the mark of the plural.
func Stem(word string) string {
	if len(word) > 3 && !strings.HasSuffix(word, "ss") {
		return strings.TrimSuffix(word, "s")
	}
	return word
}

// glob is a pattern that matches a word whatever the case of its first letter.
func glob(word string) string {
	r := []rune(word)
	first := string(r[:1])
	if strings.ContainsAny(word, "*?[]") {
		return word
	}
	return "[" + strings.ToUpper(first) + first + "]" + string(r[1:])
}
