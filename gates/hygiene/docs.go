package hygiene

import (
	"context"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
)

var (
	inlineLink = lazyre.New(`!?\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?(?:\s+["'(][^)]*)?\)`)
	refLink    = lazyre.New(`^\s{0,3}\[[^\]^][^\]]*\]:\s*<?(\S+?)>?(?:\s|$)`)
	srcLink    = lazyre.New(`<(?:img|a|source)\s[^>]*?(?:\s(?:src|href))=["']([^"']+)["']`)
	codePath   = lazyre.New("`((?:[\\w.-]+/)+[\\w.-]+\\.(?:md|mdx|rst|adoc))`")
	codeSpan   = lazyre.New("`[^`]*`")
	scheme     = lazyre.New(`^(?:[A-Za-z][A-Za-z0-9+.-]*:|//|#|\?)`)
)

// Docs makes the gate that checks the links from changed documents to files of the tree (GATE-18).
func Docs() gates.Gate {
	return gates.New(info("docs", true), func(ctx context.Context, l *gates.Look) error {
		files, ok, err := l.Changed(ctx, func(c gates.Change) bool {
			ext := path.Ext(c.Path)
			return c.Status != gates.Deleted && (ext == ".md" || ext == ".mdx" || ext == ".markdown") &&
				!language.Foreign(c.Path) && !gates.Match([]string{"**/templates/**"}, c.Path)
		})
		if err != nil || !ok {
			return err
		}
		deleted, err := deletions(ctx, l.Subject())
		if err != nil {
			return err
		}
		for _, f := range files {
			fresh := f.FreshLines()
			for _, r := range citations(f.After) {
				if there(l.Subject().Dir, f.Path, r.to) {
					continue
				}
				find := gates.Finding{Rule: "docs/dead-link", Severity: gates.Error, Path: f.Path, Line: r.line, Message: r.to +
					" does not exist", Fix: "correct the path, or create the file"}
				switch {
				case r.code && (!fresh[r.line] || ofUsers(l.Subject().Dir, r.to)):
					continue
				case r.code:
					find.Rule, find.Severity = "docs/dead-path", gates.Note
				case !fresh[r.line] && !(f.From != "" && was(l.Subject(), deleted, f.From, r.to)):
					find.Rule, find.Severity, find.Known = "docs/old-dead-link", gates.Note, true
				}
				l.Find(find)
			}
		}
		return nil
	})
}

// deletions returns the paths that the change deletes, with their folders.
func deletions(ctx context.Context, s gates.Subject) (map[string]bool, error) {
	changes, err := s.Diff.Changes(ctx)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, c := range changes {
		for p := c.Path; c.Status == gates.Deleted && p != "."; p = path.Dir(p) {
			gone[p] = true
		}
	}
	return gone, nil
}

// was reports whether the link of a moved document worked at its old path. If so, the move broke it.
func was(s gates.Subject, deleted map[string]bool, from, to string) bool {
	to, _, _ = strings.Cut(to, "#")
	if plain, err := url.PathUnescape(to); err == nil {
		to = plain
	}
	return there(s.Dir, from, to) || deleted[path.Join(path.Dir(from), to)]
}

// citation is a path in a document.
type citation struct {
	to   string
	line int
	code bool // in a code span, not a link
}

// citations finds links and paths outside of fences and comments.
func citations(text string) []citation {
	var out []citation
	fence, n, comment := "", 0, false
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		t := strings.TrimLeft(line, " ")
		if fence != "" {
			if strings.HasPrefix(t, fence) && strings.Trim(strings.TrimSpace(t), fence[:1]) == "" {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fence = t[:len(t)-len(strings.TrimLeft(t, t[:1]))]
			continue
		}
		if comment = comment || strings.HasPrefix(t, "<!--"); comment {
			comment = !strings.Contains(line, "-->")
			continue
		}
		for _, m := range codePath.FindAllStringSubmatch(line, 50) {
			out = append(out, citation{m[1], n, true})
		}
		plain := codeSpan.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat(" ", len(s)) })
		for _, re := range []*lazyre.Regexp{inlineLink, refLink, srcLink} {
			for _, m := range re.FindAllStringSubmatch(plain, 50) {
				if to := m[1]; !scheme.MatchString(to) && !strings.ContainsAny(to, "{}<>$*|") && to != "" {
					out = append(out, citation{to, n, false})
				}
			}
		}
	}
	return out
}

// ofUsers reports whether a path is in a hidden folder that the tree does not have: the folder belongs to users of the
// project.
func ofUsers(dir, to string) bool {
	first, _, _ := strings.Cut(to, "/")
	if !strings.HasPrefix(first, ".") || first == "." || first == ".." {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, first))
	return err != nil
}

// ofTree reports whether a link from the root is one to a file of the tree: its first folder is one there, or it names
// a file.
func ofTree(dir, to string) bool {
	if path.Ext(strings.TrimSuffix(to, "/")) == "" {
		return false // a page of a site
	}
	first, rest, deeper := strings.Cut(strings.TrimPrefix(to, "/"), "/")
	if info, err := os.Stat(filepath.Join(dir, first)); err == nil && info.IsDir() && deeper && rest != "" {
		return true
	}
	return path.Ext(to) == ".md" || path.Ext(to) == ".mdx"
}

// ofSphinx reports whether Sphinx builds a document: its configuration is in the folder of the document, or above it.
func ofSphinx(dir, doc string) bool {
	for at := path.Dir(doc); ; at = path.Dir(at) {
		if _, err := os.Stat(filepath.Join(dir, at, "conf.py")); err == nil {
			return true
		}
		if at == path.Dir(at) {
			return false
		}
	}
}

// there reports whether the target of a link is in the tree: literally, or as site generators resolve it.
func there(dir, doc, to string) bool {
	if i := strings.IndexAny(to, "#?"); i >= 0 {
		to = to[:i]
	}
	if plain, err := url.PathUnescape(to); err == nil {
		to = plain
	}
	if strings.Contains(doc, ".docc/") && !strings.Contains(to, "/") {
		return true // DocC finds pictures of its bundle by name
	}
	if strings.Contains(to, "::") || strings.Contains(to, "@crate") || to == "crate" {
		return true // a name, as in links of Rust documentation
	}
	if !strings.ContainsAny(to, "./") && ofSphinx(dir, doc) {
		return true // a label, which Sphinx checks
	}
	if to == "" || len(to) > 1000 || strings.ContainsRune(to, 0) {
		return true
	}
	bases := []string{path.Dir(doc), "."}
	if strings.HasPrefix(to, "/") {
		if !ofTree(dir, to) {
			return true // an address of the site that the document is built into
		}
		bases = []string{".", "docs", "static", "public", "docs/static", "docs/public", "content"}
	}
	for _, b := range bases {
		p := path.Join(b, to)
		if p == ".." || strings.HasPrefix(p, "../") {
			return true // it leads out of the tree, which is not checked
		}
		for _, end := range []string{"", ".md", ".mdx", "/index.md", "/README.md"} {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(p+end))); err == nil {
				return true
			}
		}
		if html, ok := strings.CutSuffix(p, ".html"); ok {
			for _, end := range []string{".md", ".rst", ".adoc"} {
				if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(html+end))); err == nil {
					return true
				}
			}
		}
	}
	return false
}
