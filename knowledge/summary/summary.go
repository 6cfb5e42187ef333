// Package summary reduces a source file to what a reviewer needs: declarations, endpoints, outgoing calls and error
// handling. It omits bodies, comments and local variables (BP-09, BP-10).
//
// It uses the same parser as the outline of the index (IDX-17).
package summary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
)

// Summary summarizes one file (BP-12).
type Summary struct {
	Path            string           `json:"path"`
	Language        outline.Language `json:"language"`
	Lines           int              `json:"lines"`
	Partial         string           `json:"partial,omitempty"` // position of a parse error: the summary is incomplete
	ModuleDocstring string           `json:"module_docstring"`
	Classes         []Class          `json:"classes"`
	Functions       []Function       `json:"functions"`
	Endpoints       []Endpoint       `json:"endpoints"`
	Enums           []Enum           `json:"enums"`
	Constants       []Constant       `json:"constants"`
	InternalImports []Import         `json:"internal_imports"`
	ErrorHandlers   []Handler        `json:"error_handlers"`
	HTTPCalls       []Call           `json:"http_calls"`
	Mounts          []string         `json:"mounts,omitempty"` // prefixes for the routes of other files
}

// Class is a class, a struct, an interface, or in Go and TypeScript any other named type.
type Class struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"` // class, interface or type_alias
	Bases     []string   `json:"bases,omitempty"`
	Docstring string     `json:"docstring,omitempty"`
	Signature string     `json:"signature,omitempty"` // of other named types
	Line      int        `json:"line"`
	Fields    []string   `json:"fields,omitempty"`
	Methods   []Function `json:"methods,omitempty"`
}

// Function is a function or a method with its signature.
type Function struct {
	Name       string   `json:"name"`
	Signature  string   `json:"signature"`
	Line       int      `json:"line"`
	Documented bool     `json:"documented"`
	Untyped    []string `json:"untyped,omitempty"` // parameters without a type, and "return"
}

// Endpoint is a route and its method. ANY means all methods.
type Endpoint struct {
	Method  string `json:"method"` // WEBSOCKET for a socket
	Path    string `json:"path"`
	Handler string `json:"handler"`
	Line    int    `json:"line"`
}

// Enum is an enumeration; in Go, the constants of a type.
type Enum struct {
	Name    string   `json:"name"`
	Line    int      `json:"line"`
	Members []Member `json:"members"`
}

// Member is one value of an [Enum].
type Member struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Constant is a module-level constant.
type Constant struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Line  int    `json:"line"`
}

// Import lists the names imported from another package of the project.
type Import struct {
	Path  string   `json:"path"`
	Names []string `json:"names,omitempty"`
	Line  int      `json:"line"`
}

// Handler describes how a failure is handled (BP-11).
type Handler struct {
	Function string   `json:"function"`
	Types    []string `json:"types,omitempty"`
	Guard    string   `json:"guard,omitempty"` // the condition, if nothing is caught
	Status   []int    `json:"status,omitempty"`
	Line     int      `json:"line"`
}

// String returns the form "handles: T -> 504".
func (h Handler) String() string {
	what := "everything"
	switch {
	case len(h.Types) > 0:
		what = strings.Join(h.Types, ", ")
	case h.Guard != "":
		what = "if " + h.Guard
	}
	text := "handles: " + what
	for i, s := range h.Status {
		text += map[bool]string{true: " -> ", false: ", "}[i == 0] + fmt.Sprint(s)
	}
	return text
}

// Call is a call that leaves the unit.
type Call struct {
	Method   string `json:"method"`
	Target   string `json:"target"`
	Function string `json:"function"`
	Via      string `json:"via"`  // as written: httpx.post
	Kind     string `json:"kind"` // http, or client: through a client utility
	Line     int    `json:"line"`
}

// The kinds of calls.
const (
	HTTP   = "http"
	Client = "client"
)

// Limits of texts (BP-09).
const (
	mostModule = 200
	mostClass  = 100
	mostValue  = 80
)

// Options holds the parameters of [Files].
type Options struct {
	Root    string           // of the repository
	Program patterns.Program // ast-grep; the zero Program summarizes only Go and reports that
	Own     []string         // name prefixes of the project's own packages; see [Own]
	Clients []string         // additional names of client utilities
}

// maxFile is the highest size of a file in bytes.
const maxFile = 4 << 20

// Files summarizes files of a repository. Paths are relative to its root, with slashes. skipped lists files without a
// summary.
func Files(ctx context.Context, o Options, paths []string) (out []Summary, skipped []patterns.Skip, err error) {
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return nil, nil, fmt.Errorf("summarize: %w", err)
	}
	defer root.Close()
	var texts []patterns.Text
	var languages []outline.Language
	read := map[string][]byte{}
	for _, p := range lists.Unique(paths) {
		l := outline.LanguageOf(p)
		skip := func(reason string) { skipped = append(skipped, patterns.Skip{Path: p, Reason: reason}) }
		if l == "" {
			skip("its language is not read")
			continue
		}
		if odd := patterns.OddName(p); odd != "" {
			skip(odd)
			continue
		}
		raw, err := readFile(root, p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, fmt.Errorf("summarize %s: %w", p, fs.ErrNotExist)
		case err != nil:
			skip(err.Error())
			continue
		}
		text, copied, why := outline.Prepare(l, raw)
		switch {
		case why != "":
			skip(why)
		case l == outline.Go:
			made, detail := outline.ReadGoDetail(p, text)
			out = append(out, o.make(p, l, text, made, detail))
		case !o.Program.Found():
			skip(patterns.MissingNote)
		default:
			texts, read[p] = append(texts, patterns.Text{Path: p, Text: text, Copy: copied}), text
			languages = lists.Add(languages, l)
		}
	}
	if len(texts) > 0 {
		nodes, missed, err := o.Program.Nodes(ctx, o.Root, texts, outline.DetailRules(languages...), 0)
		if err != nil {
			return nil, nil, fmt.Errorf("summarize: %w", err)
		}
		skipped = append(skipped, missed...)
		for _, t := range texts {
			if slices.ContainsFunc(missed, func(s patterns.Skip) bool { return s.Path == t.Path }) {
				continue
			}
			l := outline.LanguageOf(t.Path)
			made, detail := outline.ReadDetail(l, read[t.Path], nodes[t.Path])
			out = append(out, o.make(t.Path, l, read[t.Path], made, detail))
		}
	}
	slices.SortFunc(out, func(a, b Summary) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(skipped, func(a, b patterns.Skip) int { return strings.Compare(a.Path, b.Path) })
	return out, skipped, ctx.Err()
}

func readFile(root *os.Root, p string) ([]byte, error) {
	name := filepath.FromSlash(p)
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("a symbolic link or a special file")
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("too large: %d KiB, the limit is %d", info.Size()>>10, maxFile>>10)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// maker builds one summary.
type maker struct {
	Options
	l      outline.Language
	o      outline.Outline
	d      outline.Detail
	values map[int]outline.Value
	docs   map[int]string
	bound  map[binding]string // types of variables, see bind
	s      Summary
}

func (o Options) make(path string, l outline.Language, text []byte, made outline.Outline,
	detail outline.Detail) Summary {
	m := maker{Options: o, l: l, o: made, d: detail, docs: map[int]string{},
		values: lists.By(detail.Values, func(v outline.Value) int { return v.Symbol })}
	m.s = Summary{
		Path: path, Language: l, Lines: strings.Count(string(text), "\n"),
		Classes: []Class{}, Functions: []Function{}, Endpoints: []Endpoint{}, Enums: []Enum{}, Constants: []Constant{},
		InternalImports: []Import{}, ErrorHandlers: []Handler{}, HTTPCalls: []Call{},
	}
	if made.Error != nil {
		m.s.Partial = fmt.Sprintf("line %d: %s", made.Error.Line, made.Error.Message)
	}
	for _, d := range made.Docs {
		if _, ok := m.docs[d.Symbol]; !ok {
			m.docs[d.Symbol] = d.Content
		}
	}
	m.s.ModuleDocstring = short(m.docs[-1], mostModule)
	m.symbols()
	m.imports()
	m.endpoints()
	m.handlers()
	m.bind(text)
	m.calls()
	return m.s
}

// short returns the beginning of a text on one line.
func short(text string, n int) string {
	return phrase.Cut(phrase.Line(text), n)
}

// name returns the enclosing function with its class.
func (m *maker) name(symbol int) string {
	for symbol >= 0 {
		s := m.o.Symbols[symbol]
		if s.Kind == outline.Function || s.Kind == outline.Method {
			if p := s.Parent; p >= 0 {
				switch m.o.Symbols[p].Kind {
				case outline.Function, outline.Method:
					return m.name(p)
				case outline.Class, outline.Interface, outline.TypeAlias:
					return m.o.Symbols[p].Name + "." + s.Name
				}
			}
			return s.Name
		}
		symbol = s.Parent
	}
	return ""
}

// Get returns the summary of a path.
func Get(list []Summary, path string) (Summary, bool) {
	return lists.Find(list, func(s Summary) bool { return s.Path == path })
}
