package retrieve

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/knowledge/outline"
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
	fPair            // it is a test of one of them, or is tested by one
	fRecent          // its file changed recently
	fTest            // it is a test
	fDoc             // it is not code
	fHead            // it is the head of its file
	fTop             // its rank among the chunks of its file
	fAgain           // how often commits change its file
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
	fWords: 1.7, fFile: 1.125, fNear: 0.9, fNamed: 0.85, fPath: 2.25, fMessages: 0.675, fTogether: 1.1, fLinks: 0.575, fRecent: 0.34, fTest: -0.2, fDoc: -4.3,
	fHead: 0.5, fAgain: 0.375,
}

// Parameters for taking chunks from a ranking.
const (
	sFirst = iota // bonus of the first chunk of a file
	sMany         // penalty for each chunk already taken from the file
	sSize         // penalty for a thousand characters
	sRoom         // how much of the bonus of first chunks goes when there is less room than fullRoom
	spreads
)

// fullRoom is the number of characters from which first chunks get the full bonus.
const fullRoom = 64_000

var spread = [spreads]float64{sFirst: 0.9, sMany: 0.05, sSize: 0.4, sRoom: 0}

// Weights returns the parameters of ranking and taking, for fitting.
func Weights() []float64 { return append(append([]float64{}, weights[:]...), spread[:]...) }

// Spread takes chunks from a ranking until the room is used up, and prefers chunks of new files. of returns file and
// score of the i-th chunk, size its number of characters. It returns indexes into the ranking in the order of taking.
func Spread(n, room int, of func(i int) (file string, score float64), size func(i int, first bool) int, by []float64) []int {
	taken := map[string]int{}
	var out []int
	// The value of a chunk only falls as others of its file are taken. So it is enough to requeue a chunk with its new
	// value.
	var q queue
	bonus := by[sFirst] * (1 - by[sRoom]*(1-min(1, float64(room)/fullRoom)))
	for i := range n {
		file, score := of(i)
		cost := by[sSize] * min(10, float64(size(i, false))/1000)
		q = append(q, queued{i, file, score - cost, score + bonus - cost, 0})
	}
	heap.Init(&q)
	for len(q) > 0 && room > 100 {
		x := q[0]
		if have := taken[x.file]; have != x.seen {
			q[0].seen, q[0].value = have, x.score-by[sMany]*float64(have)
			heap.Fix(&q, 0)
			continue
		}
		heap.Pop(&q)
		if need := size(x.i, x.seen == 0); need <= room {
			room -= need
			out = append(out, x.i)
			taken[x.file]++
		}
	}
	return out
}

type queued struct {
	i     int
	file  string
	score float64 // without the effect of other chunks
	value float64
	seen  int // chunks of the file that were taken when value was computed
}

type queue []queued

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].value > q[j].value || q[i].value == q[j].value && q[i].i < q[j].i
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(queued)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// askedWord is a search term of a task.
type askedWord struct {
	word   string
	weight float64
}

var trailerRE = lazyre.New(`(?mi)^(?:[A-Za-z]+-by|Change-Id|cc|See-also|BREAKING-CHANGE): .*$|https?://\S+|\(?#\d+\)?|[\w.+-]+@[\w-]+\.[\w.]+`)

// askedWords returns the search terms of a task. Words of the first line and code names count twice.
func askedWords(text string) []askedWord {
	text = trailerRE.ReplaceAllString(bounded(text), " ")
	weight := map[string]float64{}
	var order []string
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	add := func(text string, w float64) {
		outline.EachWord(text, func(word string) {
			if len(word) < 2 || stopStems()[word] || strings.Trim(word, "0123456789") == "" {
				return
			}
			if weight[word] == 0 {
				order = append(order, word)
			}
			weight[word] = max(weight[word], w)
			if name := strings.TrimRight(word, "0123456789"); name != word && len(name) > 2 && weight[name] == 0 { // clap4 is a clap
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
	var out []askedWord
	for _, w := range order[:min(len(order), mostWords)] {
		out = append(out, askedWord{w, weight[w]})
	}
	return out
}

// stopStems holds the stop words in stemmed form.
var stopStems = func() func() map[string]bool {
	var set map[string]bool
	return func() map[string]bool {
		if set == nil {
			m := map[string]bool{}
			for w := range stopWords {
				switch w { // programming terms, which a text search can use
				case "error", "errors", "method", "methods", "class", "classes", "test", "tests", "function", "functions", "file", "files", "line", "lines", "code", "repository":
					continue
				}
				outline.EachWord(w, func(s string) { m[s] = true })
			}
			for _, w := range []string{"a", "an", "as", "at", "be", "by", "if", "in", "is", "it", "no", "of", "on", "or", "so", "to", "we", "do", "md", "merg", "pull", "request", "branch", "co", "author"} {
				m[w] = true
			}
			set = m
		}
		return set
	}
}()

// search ranks the chunks of the repository by all features of the index, without a model. The best come first.
func (p *pass) search(ctx context.Context, q TaskQuery) ([]Ranked, error) {
	chunks, err := p.Base.Chunks(ctx, p.Repo)
	if err != nil || len(chunks) == 0 {
		return nil, err
	}
	s := &searching{pass: p, chunks: chunks, at: make(map[int64]int, len(chunks)), of: map[string][]int{}, all: make([]Ranked, len(chunks))}
	for i, c := range chunks {
		s.at[c.ID] = i
		s.of[c.Path] = append(s.of[c.Path], i)
		s.all[i] = Ranked{Path: c.Path, Start: c.Start, End: c.End, Label: c.Label}
	}
	s.asked = askedWords(q.Text)
	for _, step := range []func(context.Context) error{s.words, s.messages, s.recent, func(ctx context.Context) error { return s.neighbours(ctx, q) }} {
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
	for _, name := range p.req.Files {
		for _, i := range s.of[name] {
			s.all[i].Features[fPath] = 1
		}
	}
	for _, f := range q.Files {
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
	chunks []store.Chunk
	at     map[int64]int
	of     map[string][]int // chunks of each path
	all    []Ranked
	asked  []askedWord
	file   map[string]float64 // word score of each file, 0 to 1
}

// words searches each word of the task.
func (s *searching) words(ctx context.Context) error {
	score := make([]float64, len(s.all))
	s.file = map[string]float64{}
	for _, w := range s.asked {
		hits, err := s.Base.SearchChunks(ctx, w.word, nameWeight)
		if err != nil {
			return err
		}
		best := map[string]float64{}
		for _, h := range hits {
			i, ok := s.at[h.ID]
			if !ok || h.Score <= 0 {
				continue
			}
			v := h.Score * w.weight
			score[i] += v
			if name := s.all[i].Path; v > best[name] {
				best[name] = v
			}
		}
		for name, v := range best {
			s.file[name] += v
		}
	}
	top, topFile := 1e-9, 1e-9
	for i := range score {
		top = max(top, score[i])
	}
	for _, v := range s.file {
		topFile = max(topFile, v)
	}
	for name, v := range s.file {
		s.file[name] = v / topFile
	}
	for name, list := range s.of {
		order := slices.Clone(list)
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
		for place, i := range order {
			f := &s.all[i].Features
			f[fWords] = score[i] / top
			f[fFile] = s.file[name]
			if score[i] > 0 {
				f[fTop] = 1 / float64(1+place)
			}
		}
		for k, i := range list {
			f := &s.all[i].Features
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
			if isProse(name) {
				f[fDoc] = 1
			}
		}
	}
	return nil
}

// isProse reports whether a file is not code.
func isProse(name string) bool {
	switch path.Ext(name) {
	case ".md", ".rst", ".txt", ".adoc", ".yml", ".yaml", ".toml", ".json", ".html", ".css", ".cfg", ".ini", ".xml", ".mdx", ".svg", "":
		return true
	}
	return false
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
	var words []string
	for _, w := range s.asked {
		words = append(words, w.word)
	}
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
	age := map[int64]int{}
	for i, id := range ids {
		age[id] = i
	}
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
		if !isProse(name) {
			seeds = append(seeds, name)
		}
	}
	slices.SortFunc(seeds, func(a, b string) int { return cmp.Or(cmp.Compare(prior[b], prior[a]), cmp.Compare(a, b)) })
	seeds = seeds[:min(len(seeds), seedFiles)]
	if len(seeds) == 0 {
		return nil
	}
	top := max(prior[seeds[0]], 1e-9)
	together, links, pair := map[string]float64{}, map[string]float64{}, map[string]float64{}
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
	stems := map[string][]string{}
	for name := range s.of {
		stems[subject(name)] = append(stems[subject(name)], name)
	}
	for _, seed := range seeds {
		for _, name := range stems[subject(seed)] {
			if name != seed && language.IsTest(name) != language.IsTest(seed) && !isProse(name) {
				pair[name] = max(pair[name], prior[seed]/top)
			}
		}
	}
	s.spread(fTogether, together)
	s.spread(fLinks, links)
	s.spread(fPair, pair)
	return nil
}

// Number of characters that a package adds around a chunk and around a file.
const (
	marks     = 64
	fileMarks = 24
)

// roomShare is the share of the budget for chunks. The rest is for imports of their files.
const roomShare = 0.96

// takeRanked chooses whole chunks from the ranking until the budget is used up. It joins adjacent chunks.
func (p *pass) takeRanked(ctx context.Context, s *State) ([]Decision, error) {
	files := map[string]File{}
	for _, f := range s.Files {
		files[f.Path] = f
	}
	asFile := func(r Ranked) File {
		if f, ok := files[r.Path]; ok {
			return f
		}
		f := p.fileOf(r.Path)
		x := File{f.ID, f.Path, f.Language, f.Hash, 1, r.reason(), r.Features[fPath] > 0}
		files[r.Path] = x
		return x
	}
	room := int(float64(p.req.Budget.Retrieval()*tokens.PerToken)/(1+p.req.Budget.Margin)*roomShare) - len(heading)
	list := p.ranked[:min(len(p.ranked), mostRanked)]
	size := func(i int, first bool) int {
		c := p.tree.source(list[i].Path)
		if c.bad != "" {
			return 1 << 30
		}
		n := utf8.RuneCountInString(c.span(list[i].Start, list[i].End)) + marks
		if first {
			n += fileMarks + len(list[i].Path)
		}
		return n
	}
	taken := Spread(len(list), room, func(i int) (string, float64) { return list[i].Path, list[i].Score }, size, spread[:])
	var all []Decision
	for at, i := range taken {
		r := list[i]
		f := asFile(r)
		if !s.has(r.Path) {
			s.Files = append(s.Files, f)
		}
		all = append(all, Decision{f.ID, r.Path, r.Label, strconv.Itoa(f.Tier), true, fmt.Sprintf("place %d of the search: %s", i+1, r.reason())})
		s.Choices = append(s.Choices, Choice{Path: r.Path, Symbol: r.Label, Kind: kindLines, Start: r.Start, End: r.End, Detail: Primary, Tier: f.Tier, Score: len(taken) - at, Why: r.reason()})
	}
	s.Choices = joined(s.Choices, p.tree)
	s.Precise = true
	return all, nil
}

// mostRanked is the highest number of ranked chunks to consider.
const mostRanked = 4000

// joined joins choices that have only blank lines between them.
func joined(all []Choice, t *tree) []Choice {
	slices.SortStableFunc(all, func(a, b Choice) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start)) })
	var out []Choice
	for _, c := range all {
		if n := len(out); n > 0 && out[n-1].Path == c.Path && strings.TrimSpace(t.source(c.Path).between(out[n-1].End, c.Start)) == "" {
			last := &out[n-1]
			last.End, last.Score = max(last.End, c.End), max(last.Score, c.Score)
			if c.Symbol != "" && last.Symbol != "" {
				last.Symbol += ", "
			}
			last.Symbol += c.Symbol
			continue
		}
		out = append(out, c)
	}
	return out
}

// between returns the text between two lines.
func (s *source) between(a, b int) string {
	if b <= a+1 {
		return ""
	}
	return s.span(a+1, b-1)
}

// reason returns the strongest reason for a chunk.
func (r Ranked) reason() string {
	type part struct {
		worth float64
		text  string
	}
	texts := [features]string{fWords: "has words of the task", fFile: "its file has words of the task", fNamed: "the task names a symbol in it", fPath: "the task names its file",
		fMessages: "commits with words of the task touched its file", fTogether: "its file changes together with the best ones", fLinks: "its file imports the best ones or is imported",
		fPair: "a test, or what a test is about", fRecent: "its file changed lately", fNear: "stands beside words of the task"}
	var all []part
	for i, f := range r.Features {
		if w := f * weights[i]; w > 0.1 && texts[i] != "" {
			all = append(all, part{w, texts[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(b.worth, a.worth) })
	var out []string
	for _, x := range all[:min(2, len(all))] {
		out = append(out, x.text)
	}
	return cmp.Or(strings.Join(out, ", "), "nothing speaks for it but room")
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
	p, err := newPass(ctx, d, r)
	if err != nil {
		return nil, err
	}
	q, err := p.query(ctx)
	if err != nil {
		return nil, err
	}
	return p.search(ctx, q)
}

// Place is a file and its best-ranked lines.
type Place struct {
	Path  string
	Spots []Ranked // best first
}

// Where returns the files that a task is probably about, best first. It asks no model. If nothing matches it returns
// none.
func Where(ctx context.Context, d Deps, r Request, most int) ([]Place, error) {
	const spots = 3
	p, err := newPass(ctx, d, r)
	if err != nil {
		return nil, err
	}
	q, err := p.query(ctx)
	if err != nil {
		return nil, err
	}
	if p.ranked, err = p.search(ctx, q); err != nil || p.matched(ctx, q) != nil {
		return nil, err
	}
	var out []Place
	for _, r := range p.ranked {
		i := slices.IndexFunc(out, func(o Place) bool { return o.Path == r.Path })
		switch {
		case i >= 0 && len(out[i].Spots) < spots:
			out[i].Spots = append(out[i].Spots, r)
		case i < 0 && len(out) < most && !p.tree.source(r.Path).gone:
			out = append(out, Place{r.Path, []Ranked{r}})
		}
		if len(out) == most && !slices.ContainsFunc(out, func(o Place) bool { return len(o.Spots) < spots }) {
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
