package app

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/runplan/runplan/internal/literal"
)

// refused lists wording that no comment, string or document may use, and what to write instead. The list only
// grows; there are no exceptions. docs/glossary.md has the terms.
var refused = []struct{ pattern, instead string }{
	{`whoever|whosoever`, `anyone who, or name the actor`},
	{`of which (there|one|each|none)`, `a second sentence`},
	{`go(es)? astray|went astray`, `fails, diverges`},
	{`comes? round`, `repeats, recurs`},
	{`anew`, `again, from the start, new`},
	{`to be had`, `available`},
	{`under way`, `in progress, running`},
	{`told apart`, `distinguished`},
	{`(is|are|was|were) there already`, `already exists`},
	{`(is|are|was|were) not there any ?more`, `no longer exists`},
	{`as it were|of its own accord|hence|thereof|therein|wherein|whence|whereupon|lest|ere`, `plain words`},
	{`goes? wrong with`, `fails`},
	{`what a \w+ has of`, `name the thing`},
	{`nobody (who|that)`, `no one, or the thing that is missing`},
	{`made young`, `touched`},
	{`for want of`, `without, because it is missing`},
	{`(is|are|was|were) none of|which is none`, `not one of, unknown`},
	{`counts? for nothing`, `does not count`},
	{`stands? twice`, `is repeated`},
	{`lets? us in`, `grants access`},
	{`talked out of`, `refuted`},
	{`signs? in nowhere`, `does not sign in`},
	{`steps? aside`, `leaves the chain`},
	{`(is|are) held against`, `is compared with, is checked against`},
	{`(has|have|having) no place in`, `must not be in`},
	{`what (is|are) no|what came of`, `name the thing`},
	{`as it (goes|was seen)`, `during the run, as recorded`},
	{`(is|are) told (so|of|what|not)`, `runplan reports, the message says`},
	{`goes on (and|where|with|to|on)`, `continues`},
	{`gave up on|beside runs|in vain|likewise|yonder|whither|in its stead`, `plain words`},
	{`nobody (knows|asked|looked|said|told)`, `unknown, not requested, skipped, not reported`},
	{`(that|which) (is|are) none`, `unknown, invalid`},
	{`(whose|at) fault|to blame for`, `what caused the failure`},
	{`put(ting)? to work|cannot be had`, `deploy, is not available`},
	{`heed(s|ed)?|waved? through|as good as (none|always)`, `plain words`},
	{`(says?|tells?|said) the same of|the same of (a|each|the|two)`, `the same about, the same for`},
	{`what is none|more of them than|in another way than`, `name the thing`},
	{`hands? on to|in the making|(has|have|is) the gist|for the wire`, `passes, calls, unfinished, summarizes`},
}

// refusedDoc matches doc comments that define a name by a question instead of saying what it does.
var refusedDoc = regexp.MustCompile(`^(is|are) (what|how|where|who|whether|one that|one of its) `)

// refusedNames lists metaphors that identifiers may not contain: docs/glossary.md has a term for each.
var refusedNames = regexp.MustCompile(`(?i)^(cup|cups|lookout|elsewhere|distant|forge|scribe|depot|wentdeaf)$`)

// TestPlainEnglish checks that comments, messages, documents and prompts use the terms of docs/glossary.md.
func TestPlainEnglish(t *testing.T) {
	var patterns []*regexp.Regexp
	var needs [][]literal.Lit
	for _, r := range refused {
		expr := `(?i)\b(?:` + r.pattern + `)\b`
		patterns, needs = append(patterns, regexp.MustCompile(expr)), append(needs, literal.Needs(expr))
	}
	hints := literal.NewGroups(needs...) // most texts contain none, and the expressions are slow
	check := func(place, text string) {
		text = strings.Join(strings.Fields(text), " ")
		for may := hints.In(text); may != 0; may &= may - 1 {
			i := bits.TrailingZeros64(may)
			if hit := patterns[i].FindString(text); hit != "" {
				t.Errorf("%s: %q: write %s", place, hit, refused[i].instead)
			}
		}
	}
	top, files := root(t), 0
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(top, path)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || skippedFolders[d.Name()]):
			return filepath.SkipDir
		// these files list the refused words
		case d.IsDir() || strings.HasSuffix(rel, ".pb.go") || strings.HasSuffix(rel, "plain_english_test.go") ||
			rel == "docs/glossary.md":
			return nil
		}
		switch filepath.Ext(rel) {
		case ".md":
			files++
			text, err := os.ReadFile(path)
			for paragraph := range strings.SplitSeq(string(text), "\n\n") {
				check(rel, paragraph)
			}
			return err
		case ".go":
			files++
			return plainGo(t, path, rel, check)
		}
		return nil
	})
	if err == nil {
		err = plainScripts(top, check)
	}
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were read", files)
	}
}

// plainScripts checks the comments of the acceptance scripts.
func plainScripts(top string, check func(place, text string)) error {
	scripts, err := filepath.Glob(filepath.Join(top, "testscripts", "testdata", "*", "*.txtar"))
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		commands, _, _ := strings.Cut(string(text), "\n-- ")
		for n, line := range strings.Split(commands, "\n") {
			if said, ok := strings.CutPrefix(line, "# "); ok {
				check(fmt.Sprintf("%s:%d", filepath.Base(path), n+1), said)
			}
		}
	}
	return err
}

// skippedFolders contain fixtures, build output and third-party code.
var skippedFolders = map[string]bool{"testdata": true, "node_modules": true, "bin": true, "dist": true, "vendor": true}

// plainGo checks the comments, strings and declared names of one Go file.
func plainGo(t *testing.T, path, rel string, check func(place, text string)) error {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	at := func(p token.Pos) string { return rel + ":" + strconv.Itoa(set.Position(p).Line) }
	for _, c := range file.Comments {
		check(at(c.Pos()), c.Text())
	}
	declared := func(id *ast.Ident, doc *ast.CommentGroup, starts bool) {
		if refusedNames.MatchString(id.Name) {
			t.Errorf("%s: the name %s is a metaphor: docs/glossary.md has the term", at(id.Pos()), id.Name)
		}
		words := strings.Fields(doc.Text())
		if len(words) < 2 || words[0] != id.Name {
			if starts && doc.Text() != "" && ast.IsExported(id.Name) && !strings.HasSuffix(rel, "_test.go") {
				t.Errorf("%s: the comment of %s does not begin with its name", at(id.Pos()), id.Name)
			}
			return
		}
		if rest := strings.Join(words[1:], " ") + " "; refusedDoc.MatchString(rest) {
			t.Errorf("%s: %s: begin with the name and a verb: what it does", at(id.Pos()),
				strings.Join(words[:min(6, len(words))], " "))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil // keys of stored data keep their names
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				check(at(n.Pos()), n.Value)
			}
		case *ast.FuncDecl:
			declared(n.Name, n.Doc, true)
		case *ast.GenDecl:
			for _, s := range n.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					doc, starts := s.Doc, true
					if doc == nil && len(n.Specs) == 1 {
						doc = n.Doc
					}
					declared(s.Name, doc, starts)
				case *ast.ValueSpec:
					doc := s.Doc
					if doc == nil && len(n.Specs) == 1 {
						doc = n.Doc
					}
					for _, name := range s.Names {
						declared(name, doc, false)
					}
				}
			}
		}
		return true
	})
	return nil
}
