package routing

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/language"
	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/planparse"
)

// sources holds the files of code that batches create, in the forms of import statements.
type sources struct {
	files   map[string]int // by path, to the first batch that creates it
	folders map[string]int // folder and extension of its files, "store .go", to the first batch
	modules []goModule     // Go modules whose names are in the plan
}

// goModule is a Go module: the prefix of its imports, and its folder.
type goModule struct{ name, dir string }

func (g *graph) sources() *sources {
	s := &sources{files: map[string]int{}, folders: map[string]int{}}
	for _, i := range g.order {
		for _, p := range g.does[i].makes {
			ext := path.Ext(p)
			if !codeFiles.Has(ext) || isPattern(p) {
				continue
			}
			if _, taken := s.files[p]; !taken {
				s.files[p] = i
			}
			if _, taken := s.folders[path.Dir(p)+" "+ext]; !taken && !language.GoTest(p) {
				s.folders[path.Dir(p)+" "+ext] = i
			}
		}
		s.modules = append(s.modules, modulesOf(&g.plan.Batches[i])...)
	}
	return s
}

var (
	moduleLine = lazyre.New(`(?m)^module\s+"?([^\s"]+)`)
	modInit    = lazyre.New(`\bgo mod init ([\w./~-]+)`)
)

// modulesOf finds the names of modules in the go.mod files and go mod init commands of a batch.
func modulesOf(b *planparse.Batch) []goModule {
	var out []goModule
	for _, x := range b.Blocks {
		if m := moduleLine.FindStringSubmatch(x.Text); m != nil && path.Base(x.Path) == "go.mod" {
			out = append(out, goModule{m[1], path.Dir(clean(x.Path))})
		}
	}
	planparse.EachLine(b, func(l planparse.Line) {
		if m := modInit.FindStringSubmatch(l.Text); m != nil {
			out = append(out, goModule{m[1], ""}) // the folder of the call is unknown
		} else if m := moduleLine.FindStringSubmatch(l.Text); m != nil && l.Fenced && strings.ContainsAny(m[1], "./") &&
			!strings.HasSuffix(m[1], ";") {
			out = append(out, goModule{m[1], ""})
		}
	})
	return out
}

// imported makes a batch wait for the batches that create the modules that its code imports.
func (g *graph) imported() {
	s := g.sources()
	for _, to := range g.order {
		r := importReader{graph: g, sources: s, to: to, bases: basesOf(g.does[to].all)}
		planparse.EachLine(&g.plan.Batches[to], r.line)
	}
}

// importReader reads the statements of import in the code of one batch.
type importReader struct {
	*graph
	*sources
	to    int
	bases []string // folders that names may be relative to
	group bool     // between import ( and )
}

// basesOf returns the possible folders of a batch's code, and the folders around them.
func basesOf(files []string) []string {
	out := []string{".", "src", "lib"}
	for _, p := range files {
		for dir := path.Dir(p); !slices.Contains(out, dir) && dir != "/"; dir = path.Dir(dir) {
			out = append(out, dir)
		}
	}
	return out
}

var (
	goImport     = lazyre.New(`^import\s+(?:[\w.]+\s+)?"([^"]+)"`)
	goSpec       = lazyre.New(`^(?:[\w.]+\s+)?"([^"]+)"\s*(?://.*)?$`)
	pythonFrom   = lazyre.New(`^from\s+(\.*)([\w.]*)\s+import\s+\(?(.*)$`)
	pythonImport = lazyre.New(`^import\s+(\w[\w.]*(?:\s+as\s+\w+)?(?:\s*,\s*\w[\w.]*(?:\s+as\s+\w+)?)*)\s*(?:#.*)?$`)
	scriptImport = lazyre.New(`(?:^|[;}\s])(?:import|export)\b[^'"]*?['"](\.{1,2}/[^'"]+|\.{1,2})['"]|\bfrom\s*['"](\.{1,2}/[^'"]+|\.{1,2})['"]|\b(?:require|import)\(\s*['"](\.{1,2}/[^'"]+|\.{1,2})['"]`)
)

// line reads one line of the batch. Only text in a fence is code here.
func (r *importReader) line(l planparse.Line) {
	text := strings.TrimSpace(l.Text)
	if l.Lang == "diff" || l.Lang == "patch" {
		if strings.HasPrefix(text, "-") {
			return
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, "+"))
	}
	switch {
	case !l.Fenced:
		r.group = false
		return
	case strings.HasPrefix(text, "import ("), strings.HasPrefix(text, "import("):
		if r.group = !strings.ContainsAny(text, `"'`); r.group {
			return
		}
	case r.group && strings.HasPrefix(text, ")"):
		r.group = false
		return
	}
	if m := goSpec.FindStringSubmatch(text); r.group && m != nil {
		r.goPackage(m[1], l.Number)
		return
	}
	if m := goImport.FindStringSubmatch(text); m != nil {
		r.goPackage(m[1], l.Number)
	}
	if m := pythonFrom.FindStringSubmatch(text); m != nil && m[1]+m[2] != "" {
		r.python(m[2], strings.Split(m[3], ","), m[1] != "", l.Number)
	} else if m := pythonImport.FindStringSubmatch(text); m != nil {
		for name := range strings.SplitSeq(m[1], ",") {
			r.python(strings.Fields(name)[0], nil, false, l.Number)
		}
	}
	for _, m := range scriptImport.FindAllStringSubmatch(text, -1) {
		r.script(m[1]+m[2]+m[3], l.Number)
	}
}

// needs records that the code imports code that an earlier batch creates.
func (r *importReader) needs(from int, name, what string, line int) {
	if from == r.to || r.at[from] >= r.at[r.to] || r.found[[2]int{from, r.to}] != nil {
		return
	}
	if name != what {
		name += " (" + what + ")"
	}
	r.add(from, r.to, EdgeText, line, "imports "+name+", which "+r.graph.name(from)+" creates")
}

// goPackage resolves a Go import path. If the plan does not name the module, the end of the path decides.
func (r *importReader) goPackage(name string, line int) {
	first, _, below := strings.Cut(name, "/")
	if !below || standardFolders.Has(first) {
		return
	}
	for _, m := range r.modules {
		rest, ok := strings.CutPrefix(name, m.name+"/")
		if !ok {
			continue
		}
		if from, ok := r.folders[path.Join(m.dir, rest)+" .go"]; ok {
			r.needs(from, name, path.Join(m.dir, rest), line)
		}
		return
	}
	if len(r.modules) > 0 {
		return // it is of another module
	}
	for _, end := range endings(name)[1:] {
		if from, ok := r.folders[end+" .go"]; ok {
			r.needs(from, name, end, line)
			return
		}
	}
}

// standardFolders holds the first folders of the paths in the standard library of Go.
var standardFolders = wordset.New(
	"archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag " +
		"fmt go hash html image index io iter log maps math mime net os path plugin reflect regexp runtime slices " +
		"sort strconv strings structs sync syscall testing text time unicode unique unsafe weak")

// python looks up a module, and the names imported from it, which may be modules too.
func (r *importReader) python(module string, names []string, relative bool, line int) {
	at := strings.ReplaceAll(module, ".", "/")
	for _, base := range r.bases {
		if relative && (base == "src" || base == "lib") && !slices.Contains(r.bases[3:], base) {
			continue
		}
		hit := false
		for _, p := range language.PythonFiles(path.Join(base, at)) {
			if from, ok := r.files[p]; ok && at != "" {
				r.needs(from, module, p, line)
				hit = true
			}
		}
		for _, name := range names {
			name = strings.Trim(strings.SplitN(strings.TrimSpace(name), " ", 2)[0], "() ")
			p := path.Join(base, at, name) + ".py"
			if from, ok := r.files[p]; ok && name != "" {
				r.needs(from, strings.Trim(module+"."+name, "."), p, line)
				hit = true
			}
		}
		if from, ok := r.folders[path.Join(base, at)+" .py"]; ok && !hit && at != "" {
			r.needs(from, module, path.Join(base, at), line)
			hit = true
		}
		if hit {
			return
		}
	}
}

// script looks up a relative path of JavaScript or TypeScript, relative to the batch's own files.
func (r *importReader) script(name string, line int) {
	for _, base := range r.bases {
		for try := range language.ScriptFiles(path.Join(base, name)) {
			if from, ok := r.files[try]; ok {
				r.needs(from, name, try, line)
				return
			}
		}
	}
}

// built makes a batch wait for the batch that creates the build files of its code (go.mod, package.json) or its
// package.
func (r *reader) built() {
	for _, m := range r.build {
		if r.at[m.batch] >= r.at[r.to] || r.found[[2]int{m.batch, r.to}] != nil {
			continue
		}
		for _, p := range r.does[r.to].all {
			switch {
			case !codeFiles.Has(path.Ext(p)) || p == m.path:
				continue
			case m.only && path.Dir(p) == m.dir:
				r.add(m.batch, r.to, EdgeText, 0, p+" is in the same package as "+m.path+", which "+r.graph.name(m.batch)+
					" creates")
			case !m.only && (m.dir == "." || strings.HasPrefix(p, m.dir+"/")):
				r.add(m.batch, r.to, EdgeText, 0, p+" is built with "+m.path+", which "+r.graph.name(m.batch)+" creates")
			default:
				continue
			}
			break
		}
	}
}

// tested connects a test and its subject, whichever is created first: parser_test.go and parser.go.
func (r *reader) tested() {
	for _, p := range r.does[r.to].all {
		m, words := (*maker)(nil), " is a test of "
		if subject, ok := subjectOf(p); ok {
			if m = r.stems[path.Join(path.Dir(p), subject)]; m == nil {
				m = r.stems[subject]
			}
		} else if codeFiles.Has(path.Ext(p)) {
			m, words = r.tests[strings.TrimSuffix(path.Base(p), path.Ext(p))], " is tested by "
		}
		if m == nil {
			continue
		}
		for _, from := range m.batches {
			if r.at[from] < r.at[r.to] && r.found[[2]int{from, r.to}] == nil {
				r.add(from, r.to, EdgeText, 0, p+words+m.what+", which "+r.graph.name(from)+" creates")
			}
		}
	}
}

var testName = lazyre.New(`^(?:(.+?)(?:[_.-]test|[._]spec|Tests?|Spec)|test[_-](.+))$`)

// subjectOf returns the subject of a test, by the usual names of tests.
func subjectOf(p string) (string, bool) {
	ext := path.Ext(p)
	m := testName.FindStringSubmatch(strings.TrimSuffix(path.Base(p), ext))
	if m == nil || !codeFiles.Has(ext) {
		return "", false
	}
	return m[1] + m[2], true
}

// whole returns the word of a batch's title that shows that it connects or checks all parts; "" if there is none. The
// batch's own statements about its needs have priority.
func (g *graph) whole(i int) string {
	if b := &g.plan.Batches[i]; !g.says[i].made && !g.safe[i] {
		return said(b.Title, []string{"integration", "integrate", "end-to-end", "e2e", "acceptance", "smoke", "final",
			"verify", "verification", "wiring", "wire"})
	}
	return ""
}
