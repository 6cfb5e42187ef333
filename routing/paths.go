package routing

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runplan/runplan/planparse"
)

// touched holds the files of a batch: the paths of its Files block and of its literal blocks.
type touched struct {
	all   []string // sorted, each once
	makes []string // those of them that it creates, and tests, which are usually new
	wide  []span   // those of them that match many: folders and patterns
}

func touchedBy(b *planparse.Batch) touched {
	var t touched
	for _, p := range slices.Concat(b.Files.Create, b.Files.Test) {
		t.makes = append(t.makes, clean(p))
	}
	for _, p := range slices.Concat(b.Files.Modify, b.Files.Delete) {
		t.all = append(t.all, clean(p))
	}
	for _, x := range b.Blocks {
		switch x.Kind {
		case planparse.BlockFile:
			if p := clean(x.Path); !slices.Contains(t.all, p) {
				t.makes = append(t.makes, p)
			}
		case planparse.BlockEdit, planparse.BlockDelete:
			if x.Path != "" {
				t.all = append(t.all, clean(x.Path))
			}
		case planparse.BlockDiff:
			created, changed := patched(x.Text)
			t.makes, t.all = append(t.makes, created...), append(t.all, changed...)
		}
	}
	t.makes = unique(t.makes)
	t.all = unique(append(t.all, t.makes...))
	return t
}

// patched lists the files of a patch.
func patched(text string) (created, changed []string) {
	before := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if p, ok := strings.CutPrefix(line, "--- "); ok {
			before = p
		}
		p, ok := strings.CutPrefix(line, "+++ ")
		if !ok {
			continue
		}
		p, _, _ = strings.Cut(strings.TrimPrefix(p, "b/"), "\t")
		switch {
		case p == "/dev/null":
			changed = append(changed, clean(strings.TrimPrefix(before, "a/")))
		case strings.HasPrefix(before, "/dev/null"):
			created = append(created, clean(p))
		default:
			changed = append(changed, clean(p))
		}
	}
	return created, changed
}

// clean normalises a path; a folder keeps the slash at its end.
func clean(p string) string {
	out := path.Clean(strings.ReplaceAll(p, `\`, "/"))
	if strings.HasSuffix(p, "/") && out != "/" {
		out += "/"
	}
	return strings.TrimPrefix(out, "./")
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// isPattern reports whether a path matches many. Square brackets do not make a pattern, because frameworks use them
// in file names.
func isPattern(p string) bool { return strings.ContainsAny(p, "*?{") }

// span is a path that covers many files: a folder or a pattern.
type span struct {
	path    string
	below   string // prefix of the paths in a folder
	pattern bool
}

func spanOf(p string) span {
	return span{p, strings.TrimSuffix(p, "/") + "/", isPattern(p)}
}

// covers reports whether the files that w matches may include p.
func (w span) covers(p string) bool {
	if !w.pattern {
		return w.below == "./" || strings.HasPrefix(p, w.below) || p == w.below[:len(w.below)-1]
	}
	dir, _ := doublestar.SplitPattern(w.path)
	if isPattern(p) {
		other, _ := doublestar.SplitPattern(p)
		return spanOf(dir).covers(other) || spanOf(other).covers(dir) // the common files of two patterns are unknown
	}
	ok, err := doublestar.Match(w.path, strings.TrimSuffix(p, "/"))
	if err != nil { // invalid pattern, so it is read as the folder before it
		return spanOf(dir).covers(p)
	}
	// A folder and a pattern may have common files if one is in the other.
	return ok || strings.HasSuffix(p, "/") && (spanOf(p).covers(dir) || spanOf(dir).covers(p))
}

// markFolders finds the paths that match many. One that another path goes through is a folder, with a slash at its
// end or without.
func markFolders(all []touched) {
	through := map[string]bool{}
	for _, t := range all {
		for _, p := range t.all {
			for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p[:i], '/') {
				if through[p[:i]] {
					break
				}
				through[p[:i]] = true
			}
		}
	}
	for i := range all {
		for _, p := range all[i].all {
			if strings.HasSuffix(p, "/") || p == "." || isPattern(p) || through[p] {
				all[i].wide = append(all[i].wide, spanOf(p))
			}
		}
	}
}

// shared lists the paths of a that b touches too, by name or through a folder or pattern of either.
func shared(a, b touched) []string {
	var out []string
	for _, p := range a.all {
		if a.shares(p, b) {
			out = append(out, p)
		}
	}
	return out
}

// sharing counts them.
func sharing(a, b touched) int { return len(shared(a, b)) }

func (a touched) shares(p string, b touched) bool {
	if _, found := slices.BinarySearch(b.all, p); found {
		return true
	}
	for _, w := range b.wide {
		if w.covers(p) {
			return true
		}
	}
	for _, w := range a.wide {
		if w.path == p {
			return slices.ContainsFunc(b.all, w.covers)
		}
	}
	return false
}

// overlap is the share of common files in those of the smaller set, in percent (TEAM-05). Without files it is 0,
// which the caller must interpret.
func overlap(a, b touched) float64 {
	smaller := min(len(a.all), len(b.all))
	if smaller == 0 {
		return 0
	}
	n := 0
	if len(a.all) == smaller {
		n = sharing(a, b)
	}
	if len(b.all) == smaller {
		n = max(n, sharing(b, a))
	}
	return 100 * float64(n) / float64(smaller)
}

// list names up to three of many: "a.go, b.go and 4 more".
func list(names []string) string {
	switch n := len(names); {
	case n > 3:
		return strings.Join(names[:2], ", ") + " and " + strconv.Itoa(n-2) + " more"
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
