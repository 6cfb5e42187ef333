package lessons

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/yamldoc"
)

// maxFile limits the bytes of a lesson file; a lesson is a page.
const maxFile = 1 << 20

// Parse reads one lesson file. An error is a [FileErrors] with everything that is wrong, each with its line.
func Parse(name string, src []byte) (*Lesson, error) {
	p := fileParser{path: name}
	l := p.parse(src)
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return l, nil
}

type fileParser struct {
	path  string
	lines map[string]int
	errs  FileErrors
}

func (p *fileParser) errorf(line int, format string, args ...any) {
	p.errs = append(p.errs, &FileError{p.path, line, fmt.Sprintf(format, args...)})
}

// at reports an error about a key, at its line or at the line of the table that lacks it.
func (p *fileParser) at(key, format string, args ...any) {
	line := 1
	if table, _, below := strings.Cut(key, "."); below {
		line = cmp.Or(p.lines[table], line)
	}
	p.errorf(cmp.Or(p.lines[key], line), format, args...)
}

func (p *fileParser) parse(src []byte) *Lesson {
	front, body, ok := p.split(src)
	if !ok {
		return nil
	}
	node, ok := p.tree(front)
	if !ok {
		return nil
	}
	l := &Lesson{Body: body, Path: p.path, lines: p.lines}
	if err := yamldoc.Decode(node, l, yaml.Strict()); err != nil {
		p.yamlError(err)
		return nil
	}
	p.checkID(l, node)
	p.check(l)
	return l
}

// split separates the front matter from the text below it.
func (p *fileParser) split(src []byte) (front, body string, ok bool) {
	if len(src) > maxFile {
		p.errorf(0, "the file has %d KiB; a lesson has at most %d", len(src)>>10, maxFile>>10)
		return "", "", false
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if i := invalidUTF8(src); i >= 0 {
		p.errorf(1+bytes.Count(src[:i], []byte("\n")), "not UTF-8 text")
		return "", "", false
	}
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		p.errorf(1, "a lesson begins with front matter: a line ---, then id, title and so on, then a line ---")
		return "", "", false
	}
	at := frontEnd.FindStringIndex(rest)
	if at == nil {
		p.errorf(1, "the front matter has no end: close it with a line ---")
		return "", "", false
	}
	return rest[:at[0]], strings.TrimSpace(rest[at[1]:]) + "\n", true
}

var frontEnd = lazyre.New(`(?m)^---[ \t]*$`)

func invalidUTF8(src []byte) int {
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 || r == 0 {
			return i
		}
		i += n
	}
	return -1
}

// tree parses the front matter, which must be one mapping, and notes the lines of its keys.
func (p *fileParser) tree(front string) (*ast.MappingNode, bool) {
	file, err := yamldoc.Parse(front)
	if err != nil {
		p.yamlError(err)
		return nil, false
	}
	for _, doc := range file.Docs {
		switch n := doc.Body.(type) {
		case *ast.MappingNode:
			if len(file.Docs) > 1 {
				p.errorf(1, "the front matter has %d YAML documents; it must have one", len(file.Docs))
				return nil, false
			}
			p.lines = map[string]int{}
			keyLines(p.lines, "", n)
			return n, true
		case nil, *ast.CommentGroupNode:
		default:
			p.errorf(2, "the front matter is not a list of keys such as id: \"0001\"")
			return nil, false
		}
	}
	p.errorf(1, "the front matter is empty; runplan lessons new writes an example")
	return nil, false
}

func (p *fileParser) yamlError(err error) {
	line, message := yamldoc.Place(err)
	if _, ok := errors.AsType[*yaml.UnknownFieldError](err); ok {
		message += "; the fields are id, title, severity, languages, category, scope, exclude, pattern (type, regex, " +
			"unless, code, description), fix, example (bad, good)"
	}
	if strings.Contains(message, "unknown escape") {
		message += "; put regular expressions in single quotes"
	}
	p.errorf(line+1, "%s", message) // the line --- is not part of what was parsed
}

// keyLines records the line of each key in the file.
func keyLines(lines map[string]int, prefix string, n ast.Node) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return
	}
	for _, v := range m.Values {
		key := prefix + v.Key.GetToken().Value
		lines[key] = v.Key.GetToken().Position.Line + 1
		keyLines(lines, key+".", v.Value)
	}
}

// checkID checks that ids are text: without quotes YAML reads 0043 as the number 35.
func (p *fileParser) checkID(l *Lesson, node *ast.MappingNode) {
	if t := idToken(node); t != nil && t.Type != token.DoubleQuoteType && t.Type != token.SingleQuoteType {
		p.at("id", "id: %s has no quotes, so YAML may read it as another number; write id: \"%s\"", t.Value, t.Value)
		return
	}
	if !isID(l.ID) {
		p.at("id", "id is %q; use four digits in quotes, such as \"0050\"", l.ID)
		return
	}
	if base := path.Base(p.path); !strings.HasPrefix(base, l.ID+"-") {
		p.at("id", "id is %s, but the file is called %s; its name begins with the id: %s-short-title.md", l.ID, base, l.ID)
	}
}

// idToken returns the id as it is written in the file; nil if it has none.
func idToken(node *ast.MappingNode) *token.Token {
	for _, v := range node.Values {
		if v.Key.GetToken().Value == "id" && v.Value.GetToken() != nil {
			return v.Value.GetToken()
		}
	}
	return nil
}

func isID(s string) bool {
	return len(s) == 4 && strings.Trim(s, "0123456789") == ""
}

// check validates the fields. Errors about enums list the allowed values.
func (p *fileParser) check(l *Lesson) {
	for _, f := range []struct{ key, value string }{{"title", l.Title}, {"pattern.description", l.Pattern.Description},
		{"fix", l.Fix}} {
		if strings.TrimSpace(f.value) == "" {
			p.at(f.key, "%s is missing", f.key)
		}
	}
	if strings.Contains(l.Title, "\n") {
		p.at("title", "title has more than one line")
	}
	if !slices.Contains(Severities(), l.Severity) {
		p.at("severity", "severity is %q; use one of %s", l.Severity, phrase.List(Severities()))
	}
	if !slices.Contains(Categories(), l.Category) {
		p.at("category", "category is %q; use one of %s", l.Category, phrase.List(Categories()))
	}
	if len(l.Languages) == 0 {
		p.at("languages", "languages is missing; [all] is for every text file")
	}
	for _, name := range l.Languages {
		if name != All && !slices.Contains(Languages(), name) {
			p.at("languages", "unknown language %q; languages are all, %s", name, strings.Join(Languages(), ", "))
		}
	}
	for _, glob := range l.Exclude {
		if !doublestar.ValidatePattern(glob) {
			p.at("exclude", "exclude: %q is not a glob", glob)
		}
	}
	p.checkPattern(l)
}

func (p *fileParser) checkPattern(l *Lesson) {
	switch l.Pattern.Type {
	case Syntactic:
		if l.Pattern.Regex == "" {
			p.at("pattern.regex", "pattern.regex is missing; a syntactic lesson needs it")
			return
		}
		p.checkRegex("pattern.regex", l.Pattern.Regex)
		if l.Pattern.Unless != "" {
			p.checkRegex("pattern.unless", l.Pattern.Unless)
		}
	case Semantic:
		if l.Pattern.Unless != "" {
			p.at("pattern.unless", "a semantic lesson has no regex that pattern.unless could be about")
		}
		if l.Pattern.Regex != "" {
			p.at("pattern.regex", "a semantic lesson has no regex; with one it is syntactic")
		}
	default:
		p.at("pattern.type", "pattern.type is %q; use %s or %s", l.Pattern.Type, Syntactic, Semantic)
	}
}

func (p *fileParser) checkRegex(key, expr string) {
	re, err := regexp.Compile(expr)
	var bad *syntax.Error
	switch {
	case errors.As(err, &bad):
		hint := ""
		if bad.Code == syntax.ErrInvalidPerlOp {
			hint = "; RE2 supports neither look-around nor back-references"
		}
		p.at(key, "%s: %s: `%s` at character %d%s", key, bad.Code, bad.Expr, position(expr, bad), hint)
	case err != nil:
		p.at(key, "%s: %v", key, err)
	case re.MatchString(""):
		p.at(key, "%s matches the empty text, so it would match every line", key)
	}
}

// position returns the place of an error in an expression, in characters from 1. The parser names the part with the
// error; for an unclosed part, this is its beginning.
func position(expr string, e *syntax.Error) int {
	i := strings.Index(expr, e.Expr)
	if e.Code == syntax.ErrMissingParen || e.Code == syntax.ErrUnexpectedParen {
		i = paren(expr)
	}
	return 1 + utf8.RuneCountInString(expr[:max(i, 0)])
}

// paren finds the parenthesis without a partner.
func paren(expr string) int {
	var open []int
	class := false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if strings.HasPrefix(expr[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(expr[i+1:], "]") {
				i++
			}
		case c == '(':
			open = append(open, i)
		case c == ')':
			if len(open) == 0 {
				return i
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return open[len(open)-1]
	}
	return 0
}
