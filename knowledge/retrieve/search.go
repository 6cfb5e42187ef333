package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/chunks"
)

// Parameters of the search.
const (
	nameWeight   = 2.5 // weight of a word in a path or symbol name, relative to one in a line
	mostWords    = 48  // words of a task
	mostCommits  = 60  // commits whose messages have words of the task
	recentWindow = 80  // commits
	seedFiles    = 6   // best files by words, whose neighbours are searched
)

// Features of a chunk. File features are the same for all chunks of a file.
const (
	fWords    = iota // BM25 of its words
	fFile            // BM25 of the best chunk of its file for each word
	fNear            // BM25 of its better neighbour
	fNamed           // the task names a symbol in it
	fPath            // the task names its file
	fMessages        // commits with words of the task touched its file
	fTogether        // its file changes together with the best files
	fLinks           // its file imports one of them, or is imported by one
	fRecent          // its file changed recently
	fTest            // it is a test
	fDoc             // it is not code
	fHead            // it is the head of its file
	fAgain           // how often commits change its file
	fAround          // BM25 of the best chunk for each word among it and the chunks within [around] lines
	fMeaning         // similarity of its vector to that of the task, above the mean of all chunks
	features
)

// Ranked is a chunk of the repository with its features and score.
type Ranked struct {
	Path       string
	Start, End int
	Label      string
	Score      float64
	Features   [features]float64
}

// weigh computes the score of a chunk with a logistic regression that was fitted to past commits; see
// docs/retrieval.md.
func (r *Ranked) weigh() {
	r.Score = 0
	for i, f := range r.Features {
		r.Score += weights[i] * f
	}
}

var weights = [features]float64{
	fWords: 1.2, fAround: 0.5, fFile: 1.125, fNear: 0.3, fNamed: 0.85, fPath: 2.25, fMessages: 0.675, fTogether: 1.1,
	fLinks: 0.575, fRecent: 0.34, fTest: -0.2, fDoc: -4.3, fHead: 0.5, fAgain: 0.375,
	fMeaning: 1, // not fitted
}

// askedWord is a search term of a task.
type askedWord struct {
	word   string
	weight float64
}

var trailerRE = lazyre.New(`(?mi)^(?:[A-Za-z]+-by|Change-Id|cc|See-also|BREAKING-CHANGE): .*$|https?://\S+|\(?#\d+\)?|[\w.+-]+@[A-Za-z][\w-]*\.[\w.-]*[A-Za-z]{2}`)

// askedWords returns the search terms of a task. Words of the first line and code names count twice. Of the numbers,
// only those in the names of files are terms.
func askedWords(text string, inNames map[string]bool) []askedWord {
	text = trailerRE.ReplaceAllString(bounded(text), " ")
	weight := map[string]float64{}
	var order []string
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	add := func(text string, w float64) {
		chunks.EachWord(text, func(word string) {
			if len(word) < 2 || stopStems()[word] || isNumber(word) && !inNames[word] {
				return
			}
			if weight[word] == 0 {
				order = append(order, word)
			}
			weight[word] = max(weight[word], w)
			// clap4 is a clap
			if name := strings.TrimRight(word, "0123456789"); name != word && len(name) > 2 && weight[name] == 0 {
				order = append(order, name)
				weight[name] = w / 2
			}
		})
	}
	add(first, 2)
	add(rest, 1)
	for _, m := range tickedRE.FindAllStringSubmatch(text, -1) {
		add(m[1], 2.5)
	}
	return lists.Map(order[:min(len(order), mostWords)], func(w string) askedWord { return askedWord{w, weight[w]} })
}

func isNumber(word string) bool { return strings.Trim(word, "0123456789") == "" }

// numbers returns the numbers of at least two digits in the names of code files, such as 042 of 042_users.py.
func (s *searching) numbers() map[string]bool {
	set := map[string]bool{}
	for name := range s.of {
		if isSource(name) {
			chunks.EachWord(path.Base(name), func(w string) {
				if len(w) > 1 && isNumber(w) {
					set[w] = true
				}
			})
		}
	}
	return set
}

// stopStems holds the stop words in stemmed form.
var stopStems = sync.OnceValue(func() map[string]bool {
	set := lists.Set(strings.Fields(
		"a an as at be by if in is it no of on or so to we do md merg pull request branch co author"))
	for w := range stopWords.Words() {
		if !usefulStops.Has(w) {
			chunks.EachWord(w, func(s string) { set[s] = true })
		}
	}
	return set
})

// usefulStops are the stop words that a text search can use.
var usefulStops = wordset.New(`error errors method methods class classes test tests function functions file files line
lines code repository`)

// search ranks the chunks of the repository by all features of the index, without a model. The best come first.
func (p *pass) search(ctx context.Context, q TaskQuery) ([]Ranked, error) {
	chunks, err := p.Base.Chunks(ctx, p.Repo)
	if err != nil {
		return nil, err
	}
	chunks, fresh, err := p.present(ctx, chunks)
	if err != nil || len(chunks) == 0 {
		return nil, err
	}
	fresh.relocate(q.Symbols)
	s := &searching{pass: p, fresh: fresh, at: make(map[int64]int, len(chunks)), of: map[string][]int{},
		all: make([]Ranked, len(chunks))}
	for i, c := range chunks {
		s.at[c.ID] = i
		s.of[c.Path] = append(s.of[c.Path], i)
		s.all[i] = Ranked{Path: c.Path, Start: c.Start, End: c.End, Label: c.Label}
	}
	s.asked = askedWords(q.Text, s.numbers())
	for _, step := range []func(context.Context) error{s.words, func(ctx context.Context) error { return s.links(ctx, q) },
		s.meaning, s.messages, s.recent, func(ctx context.Context) error { return s.neighbours(ctx, q) }} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	for _, sym := range q.Symbols {
		for _, i := range s.of[sym.Path] {
			if s.all[i].Start <= sym.Line && sym.Line <= s.all[i].End {
				s.all[i].Features[fNamed] = 1
			}
		}
	}
	s.subjects(q)
	planned := lists.Map(p.req.Files, func(name string) FileNamed { return FileNamed{Path: name} })
	for _, f := range slices.Concat(planned, q.Files) {
		for _, i := range s.of[f.Path] {
			s.all[i].Features[fPath] = 1
			if f.Line > 0 && s.all[i].Start <= f.Line && f.Line <= s.all[i].End {
				s.all[i].Features[fNamed] = 1
			}
		}
	}
	for i := range s.all {
		s.all[i].weigh()
	}
	slices.SortStableFunc(s.all, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start))
	})
	return s.all, nil
}

type searching struct {
	*pass
	fresh *fresh
	at    map[int64]int
	of    map[string][]int // chunks of each path
	all   []Ranked
	asked []askedWord
	file  map[string]float64 // word score of each file, 0 to 1
}

// words searches each word of the task.
func (s *searching) words(ctx context.Context) error {
	score, near := make([]float64, len(s.all)), make([]float64, len(s.all))
	s.file = map[string]float64{}
	for _, w := range s.asked {
		hits, err := s.Base.SearchChunks(ctx, w.word, nameWeight)
		if err != nil {
			return err
		}
		// chunks of changed files are not in s.at
		hits = slices.DeleteFunc(hits, func(h store.Hit) bool { _, ok := s.at[h.ID]; return !ok })
		hits = append(hits, s.fresh.hits(w.word, len(hits))...)
		best := map[string]float64{}
		reach := map[int]float64{}
		for _, h := range hits {
			if h.Score <= 0 {
				continue
			}
			i := s.at[h.ID]
			v := h.Score * w.weight
			score[i] += v
			s.nearby(i, func(k int) { reach[k] = max(reach[k], v) })
			if name := s.all[i].Path; v > best[name] {
				best[name] = v
			}
		}
		for name, v := range best {
			s.file[name] += v
		}
		for k, v := range reach {
			near[k] += v
		}
	}
	top, topFile, topNear := 1e-9, 1e-9, 1e-9
	for i := range score {
		top, topNear = max(top, score[i]), max(topNear, near[i])
	}
	for _, v := range s.file {
		topFile = max(topFile, v)
	}
	for name, v := range s.file {
		s.file[name] = v / topFile
	}
	for name, list := range s.of {
		for k, i := range list {
			f := &s.all[i].Features
			f[fWords] = score[i] / top
			f[fAround] = near[i] / topNear
			f[fFile] = s.file[name]
			if k > 0 {
				f[fNear] = score[list[k-1]] / top
			} else {
				f[fHead] = 1
			}
			if k+1 < len(list) {
				f[fNear] = max(f[fNear], score[list[k+1]]/top)
			}
			if language.IsTest(name) {
				f[fTest] = 1
			}
			if !isSource(name) {
				f[fDoc] = 1
			}
		}
	}
	return nil
}

// linkRE matches a link, and its path without the number of an issue.
var linkRE = lazyre.New(`https?://[^/\s]+/([^\s?#]*?)(?:/(?:issues|pull|pulls|commit|discussions)\b\S*)?[\s?#).,]`)

// links searches the words of the paths of links, if no other word of the task is in the index. "Closes" with the
// address of an issue names at least the project, and the code of a small project often has this name.
func (s *searching) links(ctx context.Context, q TaskQuery) error {
	if slices.ContainsFunc(s.all, func(r Ranked) bool { return r.Features[fWords] > 0 }) {
		return nil
	}
	links := linkRE.FindAllStringSubmatch(bounded(q.Text)+"\n", -1)
	if len(links) == 0 {
		return nil
	}
	paths := phrase.Join(links, "\n", func(m []string) string { return m[1] })
	s.asked = append(s.asked, askedWords(paths, nil)...)
	return s.words(ctx)
}

// alike is the value of fMeaning from which a chunk matches a task without a word in common. It was not measured.
const alike = 0.4

// meaning compares the vectors of the chunks with that of the task. Without them the search works as before.
func (s *searching) meaning(ctx context.Context) error {
	if s.Embed == nil {
		return nil
	}
	model, task, err := s.Embed(ctx, s.req.Text)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		s.note("the search works without vectors: %v", err)
		return nil
	}
	at, near, sum := []int{}, []float64{}, 0.0
	err = s.Base.EachVector(ctx, s.Repo, model, func(chunk int64, v []float32) {
		i, ok := s.at[chunk]
		if !ok || len(v) != len(task) {
			return
		}
		cos := 0.0
		for k := range v {
			cos += float64(v[k]) * float64(task[k])
		}
		at, near, sum = append(at, i), append(near, cos), sum+cos
	})
	if err != nil {
		return err
	}
	if len(at) == 0 {
		s.note("the search works without vectors: the index has none of the model in models.embedding; run: runplan index")
		return nil
	}
	mean := sum / float64(len(at))
	for k, i := range at {
		s.all[i].Features[fMeaning] = min(1, max(0, (near[k]-mean)/max(1-mean, 1e-9)))
	}
	return nil
}

// isSource reports whether a file is code that people write.
func isSource(name string) bool { return language.IsCode(name) && !language.Built(name) }

// scopeRE matches the scope of a conventional commit: "fix(drop/dropRight): …".
var scopeRE = lazyre.New(`^[a-z]+\(([^()\n]{1,100})\)!?: `)

// sameName is the number of chunks, in all code files with one name, up to which the name alone says what is meant.
const sameName = 16

// subjects finds code files that have the name of what the task is about: a name in code form, the type of a member, or
// a word of the scope of the task.
func (s *searching) subjects(q TaskQuery) {
	names, _ := Mentions(q.Text)
	names = append(names, q.types(names)...)
	if m := scopeRE.FindStringSubmatch(q.Text); m != nil {
		names = append(names, outerWords(m[1])...)
	}
	of := map[string][]int{}
	for name, chunks := range s.of {
		if isSource(name) {
			of[plainName(subject(name))] = append(of[plainName(subject(name))], chunks...)
		}
	}
	for _, name := range names {
		chunks := of[plainName(name)]
		for _, i := range chunks {
			s.all[i].Features[fPath] = max(s.all[i].Features[fPath], min(1, sameName/float64(len(chunks))))
		}
	}
}

// types returns the types of the named members that are not in the index: Cart of Cart.total. Many files have the name
// of their type, also in languages of which the index has no symbols.
func (q TaskQuery) types(names []string) []string {
	var out []string
	for _, name := range names {
		if slices.ContainsFunc(q.Symbols, func(s SymbolNamed) bool { return s.As == name }) {
			continue
		}
		for rest := name; strings.Contains(rest, "."); {
			var owner string
			if owner, rest, _ = strings.Cut(rest, "."); owner != "" && unicode.IsUpper(rune(owner[0])) {
				out = append(out, owner)
			}
		}
	}
	return out
}

// plainName returns a name in lower case, without what joins its words: "drop-right" and "dropRight" are the same name.
func plainName(name string) string { return strings.Join(Humps(name), "") }

// outerWords splits a text at all characters that names do not have.
func outerWords(text string) []string {
	return strings.FieldsFunc(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' })
}

// around is the number of lines between a chunk and its neighbours that can help it.
const around = 20

// nearby calls visit for a chunk and for the chunks of its file within [around] lines.
func (s *searching) nearby(i int, visit func(int)) {
	list, c := s.of[s.all[i].Path], s.all[i]
	at := sort.SearchInts(list, i)
	for k := at; k >= 0 && c.Start-s.all[list[k]].End <= around; k-- {
		visit(list[k])
	}
	for k := at + 1; k < len(list) && s.all[list[k]].Start-c.End <= around; k++ {
		visit(list[k])
	}
}

// spread sets a feature for all chunks of files, as a share of the largest value.
func (s *searching) spread(feature int, by map[string]float64) {
	top := 1e-9
	for name, v := range by {
		if s.of[name] != nil {
			top = max(top, v)
		}
	}
	for name, v := range by {
		for _, i := range s.of[name] {
			s.all[i].Features[feature] = v / top
		}
	}
}

// messages finds files changed by commits whose messages contain words of the task.
func (s *searching) messages(ctx context.Context) error {
	words := lists.Map(s.asked, func(w askedWord) string { return w.word })
	hits, err := s.Base.SearchCommits(ctx, words, mostCommits)
	if err != nil || len(hits) == 0 {
		return err
	}
	score := map[int64]float64{}
	ids := make([]int64, len(hits))
	for i, h := range hits {
		ids[i], score[h.ID] = h.ID, h.Score/hits[0].Score
	}
	changed, err := s.Base.PathsOfCommits(ctx, ids)
	if err != nil {
		return err
	}
	by := map[string]float64{}
	for _, c := range changed {
		if c.Files <= store.CoChangeLimit {
			by[c.Path] += score[c.Commit] * score[c.Commit] / math.Sqrt(float64(max(1, c.Files)))
		}
	}
	s.spread(fMessages, by)
	return nil
}

// recent finds recently changed files.
func (s *searching) recent(ctx context.Context) error {
	ids, err := s.Base.LatestCommits(ctx, s.Repo, 5*recentWindow)
	if err != nil {
		return err
	}
	age := lists.Index(ids, func(id int64) int64 { return id })
	changed, err := s.Base.PathsOfCommits(ctx, ids)
	if err != nil {
		return err
	}
	by, often := map[string]float64{}, map[string]float64{}
	for _, c := range changed {
		if c.Files <= store.CoChangeLimit {
			by[c.Path] += math.Exp(-float64(age[c.Commit])/(recentWindow/4)) / math.Sqrt(float64(max(1, c.Files)))
			often[c.Path]++
		}
	}
	s.spread(fRecent, by)
	s.spread(fAgain, often)
	return nil
}

// neighbours finds files related to the best files.
func (s *searching) neighbours(ctx context.Context, q TaskQuery) error {
	prior := map[string]float64{}
	for name, list := range s.of {
		best := 0.0
		for _, i := range list {
			r := &s.all[i]
			r.weigh()
			best = max(best, r.Score)
		}
		prior[name] = best
	}
	for _, f := range q.Files {
		prior[f.Path] += weights[fPath]
	}
	var seeds []string
	for name := range prior {
		if isSource(name) {
			seeds = append(seeds, name)
		}
	}
	slices.SortFunc(seeds, func(a, b string) int { return cmp.Or(cmp.Compare(prior[b], prior[a]), cmp.Compare(a, b)) })
	seeds = seeds[:min(len(seeds), seedFiles)]
	if len(seeds) == 0 {
		return nil
	}
	top := max(prior[seeds[0]], 1e-9)
	together, links := map[string]float64{}, map[string]float64{}
	for _, seed := range seeds {
		worth := max(0, prior[seed]/top)
		ids, err := s.Base.CommitsOfPath(ctx, s.Repo, seed, 40)
		if err != nil {
			return err
		}
		changed, err := s.Base.PathsOfCommits(ctx, ids)
		if err != nil {
			return err
		}
		for _, c := range changed {
			if c.Path != seed && c.Files <= 20 {
				together[c.Path] += worth / float64(len(ids)+3)
			}
		}
		if f, ok := s.names.files[seed]; ok {
			edges, err := s.Base.Edges(ctx, []int64{f.ID})
			if err != nil {
				return err
			}
			seen := map[int64]bool{f.ID: true}
			var other []int64
			for _, e := range edges {
				for _, id := range []int64{e.Source, e.Target} {
					if !seen[id] {
						seen[id] = true
						other = append(other, id)
					}
				}
			}
			files, err := s.Base.FilesByID(ctx, other)
			if err != nil {
				return err
			}
			for _, o := range files {
				links[o.Path] = max(links[o.Path], worth/math.Sqrt(float64(1+len(files))))
			}
		}
	}
	s.spread(fTogether, together)
	s.spread(fLinks, links)
	return nil
}

// reason returns the strongest reason for a chunk.
func (r Ranked) reason() string {
	type part struct {
		worth float64
		text  string
	}
	texts := [features]string{fWords: "has words of the task", fFile: "its file has words of the task",
		fNamed: "the task names a symbol in it", fPath: "the task names its file",
		fMessages: "commits with words of the task touched its file",
		fTogether: "its file changes together with the best ones", fLinks: "its file imports the best ones or is imported",
		fRecent: "its file changed recently", fNear: "is next to words of the task",
		fMeaning: "its vector is similar to the vector of the task"}
	var all []part
	for i, f := range r.Features {
		if w := f * weights[i]; w > 0.1 && texts[i] != "" {
			all = append(all, part{w, texts[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(b.worth, a.worth) })
	why := phrase.Join(all[:min(2, len(all))], ", ", func(x part) string { return x.text })
	return cmp.Or(why, "there was room for it")
}

// subject returns the common name of a test file and the file that it tests.
func subject(name string) string {
	base := path.Base(name)
	base, _, _ = strings.Cut(base, ".")
	base = strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(base), "_test"), "test_")
	return strings.TrimSuffix(strings.TrimSuffix(base, "-test"), "_spec")
}

// Rank returns the chunks of the repository by relevance to a task, best first. It asks no model.
func Rank(ctx context.Context, d Deps, r Request) ([]Ranked, error) {
	p, _, err := searched(ctx, d, r)
	if err != nil {
		return nil, err
	}
	return p.ranked, nil
}

// searched returns a pass with the results of its search.
func searched(ctx context.Context, d Deps, r Request) (*pass, TaskQuery, error) {
	p, err := newPass(ctx, d, r)
	if err != nil {
		return nil, TaskQuery{}, err
	}
	q, err := p.query(ctx)
	if err == nil {
		p.ranked, err = p.search(ctx, q)
	}
	return p, q, err
}

// Check returns a [NoMatchError] if nothing in the repository matches a task. It asks no model.
func Check(ctx context.Context, d Deps, r Request) error {
	p, q, err := searched(ctx, d, r)
	if err != nil {
		return err
	}
	return p.matched(ctx, q)
}

// Place is a file and its best-ranked lines.
type Place struct {
	Path  string
	Spots []Ranked // best first
}

// MostPlaces is the highest number of files that [Where] returns, and so that a brief names.
const MostPlaces = 8

// Where returns the files that a task is probably about, best first. It reads the files of r.Commit. It asks no model.
// If nothing matches it returns none.
func Where(ctx context.Context, d Deps, r Request) ([]Place, error) {
	const spots = 3
	p, q, err := searched(ctx, d, r)
	if err != nil || p.matched(ctx, q) != nil {
		return nil, err
	}
	var out []Place
	for _, r := range p.ranked {
		i := slices.IndexFunc(out, func(o Place) bool { return o.Path == r.Path })
		switch {
		case i >= 0 && len(out[i].Spots) < spots:
			out[i].Spots = append(out[i].Spots, r)
		case i < 0 && len(out) < MostPlaces && !p.tree.source(r.Path).gone:
			out = append(out, Place{r.Path, []Ranked{r}})
		}
		if len(out) == MostPlaces && !slices.ContainsFunc(out, func(o Place) bool { return len(o.Spots) < spots }) {
			break
		}
	}
	return out, nil
}

// Line describes a place for people: path, lines and names.
func (x Place) Line() string {
	var spots []string
	for _, s := range x.Spots {
		text := fmt.Sprintf("%d-%d", s.Start, s.End)
		if s.Label != "" {
			text += " " + phrase.Cut(s.Label, 60)
		}
		spots = append(spots, text)
	}
	return x.Path + ": " + strings.Join(spots, "; ")
}
