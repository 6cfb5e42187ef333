package briefing

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/fence"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
)

// Ref is an entry of context_refs at a commit: a file, or the names in a folder or of a glob.
type Ref struct {
	Path    string
	Commit  string
	Text    string // its first lines
	Lines   int    // total number of lines
	Missing bool
	Binary  bool
	Note    string // remark: why there is no text, or the kind of a path that is not a file
}

func (r Ref) lines() []string {
	if r.Text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(r.Text, "\n"), "\n")
}

// render shows the first n lines of at most most lines, and says what is missing.
func (r Ref) render(n, wanted int) (part, trimmed string) {
	label := "\n" + name(r.Path)
	if r.Commit != "" {
		label += " at " + git.Short(r.Commit)
	}
	lines := r.lines()
	all := max(r.Lines, len(lines))
	shown := min(n, len(lines))
	switch {
	case r.Missing:
		return label + ": does not exist\n", ""
	case all == 0:
		why := cmp.Or(r.Note, "empty")
		return label + ": " + fence.Line(why) + "\n", ""
	case r.Note != "":
		label += " (" + fence.Line(r.Note) + ")"
	}
	if shown < all {
		trimmed = fmt.Sprintf("first %d of %s", shown, phrase.Count(all, "line"))
		if min(wanted, len(lines)) > shown {
			trimmed += ": over budget"
		}
	}
	if shown == 0 {
		return fmt.Sprintf("%s: … %s; read it yourself\n", label, phrase.Count(all, "line")), trimmed
	}
	if shown < all {
		label += ", its first " + phrase.Count(shown, "line")
	}
	show := make([]string, shown, shown+1)
	for i, l := range lines[:shown] {
		show[i] = phrase.Cut(l, refLineLength)
	}
	if shown < all {
		show = append(show, "… "+phrase.Count(all-shown, "more line"))
	}
	return label + ":\n\n" + foreign(strings.Join(show, "\n")), trimmed
}

// maxRefs limits how many references are read. The others are only named.
const maxRefs = 40

// ReadRefs reads the first lines of paths at a commit. Paths use slashes and are relative to the root of the
// repository. It does not read the user's checkout. If a path cannot be shown, its entry has the reason.
func ReadRefs(ctx context.Context, repo *git.Repo, commit string, paths []string, lines int) ([]Ref, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	refs := make([]Ref, len(paths))
	at := map[string]string{} // path in the tree, by the path in the plan
	globs := false
	for i, p := range paths {
		refs[i] = Ref{Path: p, Commit: commit}
		q, why := inside(p)
		switch {
		case why != "":
			refs[i].Note = why
		case i >= maxRefs:
			refs[i].Note = fmt.Sprintf("not shown: only the first %d references are", maxRefs)
		default:
			at[p] = q
			globs = globs || strings.ContainsAny(q, "*?[{")
		}
	}
	tree := objects{repo: repo, commit: commit}
	if err := tree.look(ctx, slices.Sorted(maps.Values(at))); err != nil {
		return nil, err
	}
	if err := tree.read(ctx); err != nil {
		return nil, err
	}
	for i := range refs {
		p, ok := at[refs[i].Path]
		if !ok {
			continue
		}
		if err := tree.fill(ctx, &refs[i], p, max(lines, 0)); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// inside normalizes a path of the plan, or returns why it is not a path in the tree.
func inside(p string) (clean, why string) {
	q := path.Clean(strings.TrimPrefix(strings.TrimSpace(p), "./"))
	switch {
	case strings.ContainsAny(q, "\x00\n\r"):
		return "", "not a path"
	case path.IsAbs(q) || q == ".." || strings.HasPrefix(q, "../") || strings.Contains(q, `\`) && strings.Contains(q, ":"):
		return "", "outside of the repository, not read"
	case q == ".git" || strings.HasPrefix(q, ".git/"):
		return "", "git's own, not read"
	}
	return q, ""
}

// objects holds the entries of a commit's tree to which references point.
type objects struct {
	repo   *git.Repo
	commit string
	by     map[string]object
	blobs  map[string][]byte
	names  []string // all files of the tree, read if a glob or a folder needs them
	listed bool
}

type object struct {
	mode, kind, hash string
	size             int
}

// look finds the entries of the given paths, in one process. With -t a folder is listed even if a path below it is
// requested too.
func (o *objects) look(ctx context.Context, paths []string) error {
	o.by = map[string]object{}
	paths = slices.Compact(slices.DeleteFunc(paths, func(p string) bool { return p == "." }))
	if len(paths) == 0 {
		return nil
	}
	args := append([]string{"--literal-pathspecs", "ls-tree", "-l", "-t", "-z", "--full-tree", o.commit, "--"}, paths...)
	out, err := o.repo.Run(ctx, args...)
	if err != nil {
		return fmt.Errorf("find the context_refs at %s: %w", git.Short(o.commit), err)
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		head, p, ok := strings.Cut(entry, "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 4 {
			continue
		}
		size, err := strconv.Atoi(f[3]) // "-" for what has none
		if err != nil {
			size = 0
		}
		o.by[p] = object{mode: f[0], kind: f[1], hash: f[2], size: size}
	}
	return nil
}

// read reads the files among the entries, in one process.
func (o *objects) read(ctx context.Context) error {
	o.blobs = map[string][]byte{}
	var hashes []string
	for _, e := range o.by {
		if e.kind == "blob" && e.size > 0 && e.size <= git.MaxBlob {
			hashes = append(hashes, e.hash)
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	blobs, err := o.repo.ReadObjects(ctx, lists.Unique(hashes))
	if err != nil {
		return fmt.Errorf("read what context_refs names at %s: %w", git.Short(o.commit), err)
	}
	for _, b := range blobs {
		o.blobs[b.Hash] = b.Data
	}
	return nil
}

// fill completes a reference.
func (o *objects) fill(ctx context.Context, r *Ref, p string, lines int) error {
	e, ok := o.by[p]
	switch {
	case p == "." || ok && e.kind == "tree":
		return o.several(ctx, r, "a folder with ", lines,
			func(f string) bool { return p == "." || strings.HasPrefix(f, p+"/") })
	case !ok && strings.ContainsAny(p, "*?[{"):
		return o.several(ctx, r, "matches ", lines, func(f string) bool { return gates.Match([]string{p}, f) })
	case !ok:
		r.Missing = true
	case e.kind == "commit":
		r.Note = "a submodule, not read"
	case e.mode == "120000":
		r.Note = "a symbolic link, not followed; its target is " + name(string(o.blobs[e.hash]))
	case e.size > git.MaxBlob:
		r.Note = fmt.Sprintf("%d MiB, too large to be shown; read the part that you need", e.size>>20)
	case e.size == 0:
	default:
		data, ok := o.blobs[e.hash]
		if !ok {
			return fmt.Errorf("read %s at %s: git does not have object %s", p, git.Short(o.commit), e.hash)
		}
		if git.Binary(data) {
			r.Binary, r.Note = true, fmt.Sprintf("binary, %s", phrase.Count(len(data), "byte"))
			return nil
		}
		r.head(fence.Hide(fence.Clean(string(data))), lines)
	}
	return nil
}

// head keeps the first lines of a text.
func (r *Ref) head(text string, lines int) {
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	r.Lines = len(all)
	r.Text = ""
	if kept := all[:min(lines, len(all))]; len(kept) > 0 {
		r.Text = strings.Join(kept, "\n") + "\n"
	}
}

// several lists the names of files in a folder or of a glob, one a line.
func (o *objects) several(ctx context.Context, r *Ref, what string, lines int, in func(file string) bool) error {
	if err := o.list(ctx); err != nil {
		return err
	}
	var names []string
	for _, f := range o.names {
		if in(f) {
			names = append(names, fence.Line(f))
		}
	}
	if len(names) == 0 {
		r.Missing = true
		return nil
	}
	r.Note = what + phrase.Count(len(names), "file")
	r.head(strings.Join(names, "\n"), lines)
	return nil
}

// list reads the names of all files, once.
func (o *objects) list(ctx context.Context) error {
	if o.listed {
		return nil
	}
	out, err := o.repo.Run(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", o.commit)
	if err != nil {
		return fmt.Errorf("list the files of %s: %w", git.Short(o.commit), err)
	}
	o.names, o.listed = strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), true
	return nil
}
