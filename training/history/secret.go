package history

import (
	"context"
	"hash/maphash"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/secrets"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/literal"
	"github.com/runplan/runplan/internal/recent"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/knowledge/outline"
)

// sentry finds secrets with the rules of the secrets gate and with the redactor.
type sentry struct {
	gate  gates.Gate
	dir   string
	hide  func(string) string         // removes probable secrets
	dirty *recent.Map[string, string] // by path: a line with a secret

	seed   maphash.Seed
	lines  *recent.Shared[uint64, bool] // lines without secrets, by the hashes of the line and its path
	blocks *recent.Map[uint64, bool]    // the same for blocks, without a word of longSecrets
}

// Limits of the younger halves of the memory. mostDirty is in bytes.
const (
	mostBlocks = 200_000 // the same for lines
	mostDirty  = 2 << 20
)

// newSentry makes a sentry. dir must exist, because the gate requires a folder; nothing in it is read. redact must
// also remove what [fence.Hide] removes.
func newSentry(dir string, redact func(string) string) sentry {
	bytes, each := func(text string) int { return len(text) + 100 }, func(bool) int { return 1 }
	return sentry{secrets.New(), dir, redact, recent.New[string](mostDirty, bytes), maphash.MakeSeed(),
		recent.NewShared[uint64](mostBlocks, each), recent.New[uint64](mostBlocks, each)}
}

// hints are substrings: each line that the gate may report, and each text that the redactor may change, contains at
// least one. Other lines need no check.
var hints = sync.OnceValue(
	func() *literal.Set { return literal.NewSet(slices.Concat(secrets.Hints(), redact.Hints())) })

// finder returns a case-insensitive search for words in one pass.
func finder(words ...string) func() *literal.Set {
	return sync.OnceValue(func() *literal.Set { return literal.NewSet(literal.Folded(words...)) })
}

// wide are substrings of texts in which a secret may span several lines.
var wide = finder("private key", "uthorization")

// longSecrets are substrings of texts in which a secret may span more than [nearLines] lines.
var longSecrets = finder("private key")

// document reports whether a file is documentation, by its name. The gate reports nothing because of such a name alone.
func document(name string) bool {
	switch path.Ext(name) {
	case ".md", ".mdx", ".txt", ".rst", ".adoc", ".html", ".css", ".scss", ".svg", ".csv", ".sum", ".mod", ".lock",
		".proto", ".sql", ".sh", ".xml", ".tmpl", ".golden", ".txtar", ".yaml", ".yml", ".toml":
		return !strings.HasPrefix(path.Base(name), ".")
	}
	return outline.LanguageOf(name) != ""
}

// text is a text to check, with the path of its file.
type text struct{ path, text string }

// suspects returns the unchecked lines of a text that contain a hint, and the text without checked lines. Most
// versions of a file share most of their lines with another one.
func (s sentry) suspects(t text) (out []string, rest string) {
	var b strings.Builder
	left := 0
	for at := hints().Next(t.text, 0); at >= 0; {
		from, to := strings.LastIndexByte(t.text[:at], '\n')+1, len(t.text)
		if n := strings.IndexByte(t.text[at:], '\n'); n >= 0 {
			to = at + n
		}
		line := strings.TrimSuffix(t.text[from:to], "\r")
		if _, clean := s.lines.Get(s.hash(t.path, line)); clean {
			b.WriteString(t.text[left:from])
			left = to
		} else {
			out = append(out, line)
		}
		at = hints().Next(t.text, to)
	}
	if left == 0 {
		return out, t.text
	}
	b.WriteString(t.text[left:])
	return out, b.String()
}

// hash returns the key of lines of a file in the memory.
func (s sentry) hash(path, lines string) uint64 {
	return maphash.String(s.seed, lines) ^ maphash.String(s.seed, path)
}

// Sizes of the blocks of a text. nearLines is the number of lines around a block that are checked with it.
const (
	leastBlock = 300  // bytes
	mostBlock  = 2000 // bytes from which a block ends at any line, not only at an empty one
	nearLines  = 4
)

// endOfBlock returns the end of the block that begins at an offset.
func endOfBlock(text string, at int) int {
	from := min(at+leastBlock, len(text))
	to := min(from+mostBlock, len(text))
	if n := strings.Index(text[from:to], "\n\n"); n >= 0 {
		return from + n + 2
	}
	return endOfLine(text, to)
}

func endOfLine(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// fresh returns the blocks of a text that are not known, by a hash of their lines and those around them, and the parts
// of the text to check for them.
func (s sentry) fresh(t text, known func(block uint64) bool) (blocks []uint64, parts []text) {
	until := -1
	for at, end := 0, 0; at < len(t.text); at = end {
		end = endOfBlock(t.text, at)
		from, to := at, end
		for range nearLines {
			from, to = strings.LastIndexByte(t.text[:max(0, from-1)], '\n')+1, endOfLine(t.text, to)
		}
		block := s.hash(t.path, t.text[from:to])
		if known(block) {
			continue
		}
		if blocks = append(blocks, block); from <= until {
			last := &parts[len(parts)-1].text
			*last = t.text[until-len(*last) : to]
		} else {
			parts = append(parts, text{t.path, t.text[from:to]})
		}
		until = to
	}
	return blocks, parts
}

// look reports which texts contain a secret anywhere. A key in a fixtures folder counts too, because training data
// does not show that it is a sample. Of a version of a file only the blocks are checked that no clean one has.
func (s sentry) look(ctx context.Context, all []text) ([]bool, error) {
	out := make([]bool, len(all))
	asked := map[uint64]int{} // the text with which a block is checked
	blocks, shares := make([][]uint64, len(all)), make([][]int, len(all))
	var parts []text
	var of []int
	for i, t := range all {
		if line, have := s.dirty.Get(t.path); have && hasLine(t.text, line) {
			out[i] = true
			continue
		}
		var fresh []text
		blocks[i], fresh = s.fresh(t, func(block uint64) bool {
			if _, clean := s.blocks.Get(block); clean {
				return true
			}
			with, here := asked[block]
			if here {
				shares[i] = append(shares[i], with)
			}
			return here
		})
		if slices.ContainsFunc(fresh, func(p text) bool { return longSecrets().Next(p.text, 0) >= 0 }) {
			blocks[i], shares[i], fresh = nil, nil, []text{t}
		}
		for _, b := range blocks[i] {
			asked[b] = i
		}
		for _, p := range fresh {
			parts, of = append(parts, p), append(of, i)
		}
	}
	found, err := s.search(ctx, parts)
	if err != nil {
		return nil, err
	}
	for k, i := range of {
		out[i] = out[i] || found[k]
	}
	for i, t := range all {
		if slices.ContainsFunc(shares[i], func(with int) bool { return out[with] }) {
			whole, err := s.search(ctx, all[i:i+1])
			if err != nil {
				return nil, err
			}
			out[i] = out[i] || whole[0]
		}
		if line, have := s.dirty.Get(t.path); out[i] && !(have && hasLine(t.text, line)) {
			s.remember(t)
		}
		for _, b := range blocks[i] {
			if !out[i] {
				s.blocks.Put(b, true)
			}
		}
	}
	return out, nil
}

// remember keeps a line with a secret, so that the versions of its file that have it need no check.
func (s sentry) remember(t text) {
	for line := range strings.Lines(t.text) {
		if line = strings.TrimRight(line, "\r\n"); s.hide(line) != line {
			s.dirty.Put(t.path, strings.Clone(line))
			return
		}
	}
}

func hasLine(text, line string) bool {
	for at := 0; ; {
		n := strings.Index(text[at:], line)
		if n < 0 {
			return false
		}
		from, to := at+n, at+n+len(line)
		if (from == 0 || text[from-1] == '\n') && (to == len(text) || text[to] == '\n' || text[to] == '\r') {
			return true
		}
		at = to
	}
}

// search checks texts as they are.
func (s sentry) search(ctx context.Context, all []text) ([]bool, error) {
	out := make([]bool, len(all))
	ask := make([]string, len(all))
	lines := make([][]string, len(all))
	err := parallel(ctx, len(all), func(i int) error {
		t := all[i]
		rest := ""
		lines[i], rest = s.suspects(t)
		ask[i] = strings.Join(lines[i], "\n")
		if s.hide(rest) != rest {
			out[i], ask[i] = true, ""
		} else if !document(t.path) {
			ask[i] = t.text // the file name alone may be suspicious
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d := addition{}
	for i, t := range ask {
		if t != "" {
			d[strconv.Itoa(i)+"/"+all[i].path] = t // versions of a file share its path
		}
	}
	if len(d) > 0 {
		r, err := s.gate.Check(ctx, gates.Subject{Dir: s.dir, Diff: d, Changed: slices.Sorted(maps.Keys(d))})
		if err != nil {
			return nil, err
		}
		for _, f := range r.Findings {
			n, _, _ := strings.Cut(f.Path, "/")
			if i, err := strconv.Atoi(n); err == nil && f.Rule != "secrets/private-host" && f.Rule != "secrets/not-looked-at" {
				out[i] = true
			}
		}
	}
	for i, found := range out {
		for _, line := range lines[i] {
			if !found && wide().Next(line, 0) < 0 {
				s.lines.Put(s.hash(all[i].path, line), true)
			}
		}
	}
	return out, nil
}

// sources checks file versions.
func (s sentry) sources(ctx context.Context, all []*source) error {
	found, err := s.look(ctx, lists.Map(all, func(x *source) text { return text{x.path, x.text} }))
	for i := range found {
		all[i].secret = found[i]
	}
	return err
}

// addition is a change that only adds files.
type addition map[string]string

// Changes lists the files.
func (a addition) Changes(context.Context) ([]gates.Change, error) {
	out := lists.Map(slices.Sorted(maps.Keys(a)),
		func(p string) gates.Change { return gates.Change{Path: p, Status: gates.Added} })
	return out, nil
}

// Before returns nil, because the files are new.
func (a addition) Before(context.Context, string) ([]byte, error) { return nil, nil }

// After returns the text of a file.
func (a addition) After(_ context.Context, path string) ([]byte, error) { return []byte(a[path]), nil }
