package patterns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
)

// Text is a file to search, with the text that the caller read.
type Text struct {
	Path string // slashes, relative to the folder
	Text []byte
	Copy bool // Text differs from the file on disk: it was converted to UTF-8
}

// Node is a match of one rule in a file, as byte offsets into its text.
//
// A rule for a definition captures its name as $AT, which becomes Start and End; the whole match becomes From and To.
// It can also capture what begins and ends this range, as $FROM and $TO.
type Node struct {
	Rule       string
	Start, End int
	From, To   int // the extent of a definition, or the range that the rule's fix replaces. -1: the rule has none
	Vars       []Var
}

// Var is a captured node.
type Var struct {
	Name       string
	Start, End int
}

// Var returns the captured node of that name.
func (n Node) Var(name string) (v Var, ok bool) {
	return lists.Find(n.Vars, func(v Var) bool { return v.Name == name })
}

// ErrTooMuch reports that an answer is too long for memory.
var ErrTooMuch = errors.New("ast-grep's answer is too long")

// Nodes applies rules to texts of dir in one process and returns the matches by path, in no order. It is for indexing:
// rules match small nodes, and the caller takes text from the file, not from the answer. A text without nodes is
// checked again; it is in skipped if ast-grep did not read it. With threads > 0 ast-grep uses at most that many.
// [ErrTooMuch] asks for fewer texts.
func (p Program) Nodes(ctx context.Context, dir string, texts []Text, rules string,
	threads int) (nodes map[string][]Node, skipped []Skip, err error) {
	if !p.Found() {
		return nil, nil, ErrMissing
	}
	if len(texts) == 0 {
		return nil, nil, nil
	}
	own, err := os.MkdirTemp("", "runplan-outline-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for ast-grep: %w", err)
	}
	defer os.RemoveAll(own)
	o := outliner{Program: p, dir: dir, own: own, texts: make(map[string]Text, len(texts)), threads: threads}
	// A configuration of our own: one in the repository could blind the program.
	if err := errors.Join(
		os.WriteFile(filepath.Join(own, "sgconfig.yml"), []byte(`{"ruleDirs": []}`), 0o600),
		os.WriteFile(filepath.Join(own, "rules.yml"), []byte(rules), 0o600)); err != nil {
		return nil, nil, fmt.Errorf("write the rules for ast-grep: %w", err)
	}
	var args []string
	for _, t := range texts {
		arg, err := o.argument(t)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, arg)
	}
	nodes = make(map[string][]Node, len(texts))
	if err := o.ask(ctx, args, nodes); err != nil {
		return nil, nil, err
	}
	var silent []string
	for _, arg := range args {
		if t := o.texts[arg]; len(nodes[t.Path]) == 0 && len(bytes.TrimSpace(t.Text)) > 0 {
			silent = append(silent, arg)
		}
	}
	skipped, err = o.silent(ctx, silent)
	return nodes, skipped, err
}

type outliner struct {
	Program
	dir, own string
	texts    map[string]Text // by argument
	threads  int
}

// argument returns the path that ast-grep gets for a text. It is the file itself, or a copy if the file is not UTF-8 or
// contains the word that would turn ast-grep off. Offsets are the same in both.
func (o *outliner) argument(t Text) (string, error) {
	text := t.Text
	if bytes.Contains(text, []byte(ignoreWord)) {
		text, t.Copy = bytes.ReplaceAll(text, []byte(ignoreWord), []byte(neutralWord)), true
	}
	arg := "./" + t.Path // a name may begin with a dash
	if t.Copy {
		arg = filepath.Join(o.own, "copies", strconv.Itoa(len(o.texts)), path.Base(t.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(arg), 0o700), os.WriteFile(arg, text, 0o600)); err != nil {
			return "", fmt.Errorf("copy %s for ast-grep: %w", t.Path, err)
		}
		arg = filepath.ToSlash(arg)
	}
	o.texts[arg] = t
	return arg, nil
}

func (o *outliner) command(more []string, args []string) []string {
	all := append([]string{o.Path, "scan", "--config", filepath.Join(o.own, "sgconfig.yml"), "--rule",
		filepath.Join(o.own, "rules.yml"), "--json=stream", "--color", "never"}, more...)
	if o.threads > 0 {
		all = append(all, "--threads", strconv.Itoa(o.threads))
	}
	all = append(all, "--")
	all = append(all, lists.Map(args, filepath.FromSlash)...)
	return all
}

// ask runs the program and parses its output as it arrives.
func (o *outliner) ask(ctx context.Context, args []string, nodes map[string][]Node) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a := newAnswer(o, nodes, func() { stop(ErrTooMuch) })
	res, err := proc.Run(ctx, proc.Cmd{
		Args: o.command(nil, args), Dir: o.dir, Env: o.Env, Reaper: o.Reaper, Stdout: a, Keep: 4 << 10,
		Limits: proc.Limits{Total: o.limit()},
	})
	if err != nil {
		return fmt.Errorf("run ast-grep: %w", err)
	}
	if a.size > maxAnswer {
		return fmt.Errorf("%w: more than %d MiB about %d files", ErrTooMuch, maxAnswer>>20, len(args))
	}
	var said []string
	if a.size == 0 || res.Exit != 0 {
		for l := range bytes.Lines([]byte(res.Tail)) {
			said = append(said, string(bytes.TrimSpace(l)))
		}
	}
	if err := verdict(res, said); err != nil {
		return err
	}
	return a.close()
}

// answer parses the program's output in pieces. It keeps only one line of the output itself.
type answer struct {
	*outliner
	read    proc.Records // lines
	nodes   map[string][]Node
	names   names
	lines   int
	size    int
	tooMuch func()

	file string // of the last line, and the matches in it
	text Text
	last []Node
}

func newAnswer(o *outliner, nodes map[string][]Node, tooMuch func()) *answer {
	a := &answer{outliner: o, nodes: nodes, names: names{}, tooMuch: tooMuch}
	a.read = proc.Records{End: '\n', Take: a.line}
	return a
}

// Write takes a piece. close returns its error.
func (a *answer) Write(p []byte) (int, error) {
	if a.size += len(p); a.size > maxAnswer {
		a.last = nil
		a.tooMuch()
		return len(p), nil
	}
	return a.read.Write(p)
}

// close reads what is left.
func (a *answer) close() error {
	err := a.read.Close()
	a.store()
	return err
}

// store stores the nodes of the last file.
func (a *answer) store() {
	if len(a.last) > 0 {
		a.nodes[a.text.Path] = append(a.nodes[a.text.Path], a.last...)
		a.last = a.last[:0]
	}
}

func (a *answer) line(line []byte) error {
	a.lines++
	if len(line) == 0 {
		return nil
	}
	file, node, err := decodeNode(line, a.names)
	if err != nil {
		return fmt.Errorf("read ast-grep's answer, line %d: %w", a.lines, err)
	}
	if file != a.file { // many lines of a file follow each other
		a.store()
		var ok bool
		if a.text, ok = a.texts[file]; !ok {
			if a.text, ok = a.texts["./"+path.Clean(filepath.ToSlash(file))]; !ok {
				return fmt.Errorf("ast-grep %s answered about %q, which was not in the request; install version %sx", a.Version,
					file,
					KnownGood)
			}
		}
		a.file = file
	}
	if !node.within(len(a.text.Text)) {
		return fmt.Errorf("read %s: it was changed while it was indexed; run it again", a.text.Path)
	}
	a.last = append(a.last, node)
	return nil
}

// names interns repeated words.
type names map[string]string

func (n names) of(word []byte) string {
	if s, ok := n[string(word)]; ok {
		return s
	}
	s := string(word)
	if n != nil {
		n[s] = s
	}
	return s
}

// silent runs ast-grep again on files without an answer, and reports whether it read them.
func (o *outliner) silent(ctx context.Context, args []string) ([]Skip, error) {
	if len(args) == 0 {
		return nil, nil
	}
	var out output
	res, err := proc.Run(ctx, proc.Cmd{
		Args: o.command([]string{"--inspect", "entity"}, args), Dir: o.dir, Env: o.Env, Reaper: o.Reaper, Keep: 4 << 10,
		Limits: proc.Limits{Total: o.limit()}, Line: out.line,
	})
	if err != nil {
		return nil, fmt.Errorf("run ast-grep: %w", err)
	}
	if err := verdict(res, out.said); err != nil {
		return nil, err
	}
	asked := lists.SetBy(args, path.Clean)
	s := scanOutput{files: map[string]string{}}
	if err := s.read(out.notes, asked); err != nil {
		return nil, err
	}
	var skipped []Skip
	for _, a := range args {
		if why := s.unread(path.Clean(a)); why != "" {
			skipped = append(skipped, Skip{o.texts[a].Path, why})
		}
	}
	return skipped, nil
}

// within reports whether all offsets lie in a text of n bytes.
func (n Node) within(size int) bool {
	ok := 0 <= n.Start && n.Start <= n.End && n.End <= size && (n.From < 0 || n.From <= n.To && n.To <= size)
	for _, v := range n.Vars {
		ok = ok && 0 <= v.Start && v.Start <= v.End && v.End <= size
	}
	return ok
}

// decodeNode reads one line of the answer. It reads only numbers and names, and steps over the texts, which are most of
// the output.
func decodeNode(line []byte, known names) (file string, n Node, err error) {
	n.Start, n.From = -1, -1
	bad := false
	offset := func(to *int, value []byte) {
		v, err := strconv.ParseUint(string(value), 10, 31)
		*to, bad = int(v), bad || err != nil
	}
	name := func(value []byte) string {
		if bytes.IndexByte(value, '\\') < 0 {
			return known.of(value)
		}
		var s string
		bad = bad || json.Unmarshal(fmt.Appendf(nil, `"%s"`, value), &s) != nil
		return s
	}
	rest, ok := leaves(line, make([][]byte, 0, 8), func(path [][]byte, value []byte) {
		first, last := string(path[0]), string(path[len(path)-1])
		from, to := &n.Start, &n.End
		switch {
		case first == "file" && len(path) == 1:
			file = name(value)
			return
		case first == "ruleId" && len(path) == 1:
			n.Rule = name(value)
			return
		case first == "range" && len(path) == 3 && string(path[1]) == "byteOffset":
		case first == "replacementOffsets" && len(path) == 2:
			from, to = &n.From, &n.To
		case first == "metaVariables" && len(path) == 6 && string(path[1]) == "single" && string(path[3]) == "range" &&
			string(path[4]) == "byteOffset":
			if as := known.of(path[2]); len(n.Vars) == 0 || n.Vars[len(n.Vars)-1].Name != as {
				n.Vars = append(n.Vars, Var{as, -1, -1})
			}
			v := &n.Vars[len(n.Vars)-1]
			from, to = &v.Start, &v.End
		default:
			return
		}
		switch last {
		case "start":
			offset(from, value)
		case "end":
			offset(to, value)
		}
	})
	switch {
	case !ok || bad || len(bytes.TrimSpace(rest)) > 0:
		return "", n, fmt.Errorf("not one JSON object: %q", firstLine(string(line)))
	case file == "" || n.Rule == "" || n.Start < 0:
		return "", n, errors.New(`it has no "file", "ruleId" or "range"`)
	}
	n.place()
	return file, n, nil
}

// place applies the captures that give the range of a definition.
func (n *Node) place() {
	at, ok := n.Var("AT")
	if !ok {
		return
	}
	n.From, n.To = n.Start, n.End
	n.Start, n.End = at.Start, at.End
	if v, ok := n.Var("FROM"); ok {
		n.From = v.Start
	}
	if v, ok := n.Var("TO"); ok {
		n.To = v.End
	}
	n.Vars = slices.DeleteFunc(n.Vars, func(v Var) bool { return v.Name == "AT" || v.Name == "FROM" || v.Name == "TO" })
}

// leaves calls leaf for each text, as it is written, and each other plain value of a JSON object that is in no list.
// path has the keys around it. It returns the text after the object, or false if it is not one.
func leaves(text []byte, path [][]byte, leaf func(path [][]byte, value []byte)) ([]byte, bool) {
	const deepest = 64
	if text = skipSpace(text); len(text) == 0 || len(path) > deepest || len(path) == 0 && text[0] != '{' {
		return nil, false
	}
	open, end := text[0], closing(text)
	switch {
	case end > 0:
		leaf(path, text[1:end])
		return text[end+1:], true
	case open != '{' && open != '[':
		if end = bytes.IndexAny(text, " \t\r\n,:]}"); end < 1 {
			return nil, false
		}
		leaf(path, text[:end])
		return text[end:], true
	}
	last := open + 2 // the bracket that closes it
	text = skipSpace(text[1:])
	for first := true; len(text) > 0; first = false {
		if first && text[0] == last {
			return text[1:], true
		}
		key, to := []byte(nil), leaf
		if open == '[' {
			to = func([][]byte, []byte) {}
		} else if end = closing(text); end > 0 {
			key, text = text[1:end], skipSpace(text[end+1:])
			if !bytes.HasPrefix(text, []byte(":")) {
				return nil, false
			}
			text = text[1:]
		} else {
			return nil, false
		}
		var ok bool
		if text, ok = leaves(text, append(path, key), to); !ok {
			return nil, false
		}
		text = skipSpace(text)
		switch {
		case bytes.HasPrefix(text, []byte{last}):
			return text[1:], true
		case !bytes.HasPrefix(text, []byte(",")):
			return nil, false
		}
		text = skipSpace(text[1:])
	}
	return nil, false
}

func skipSpace(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\r' || text[0] == '\n') {
		text = text[1:]
	}
	return text
}

// closing returns the index of the quote that ends the string at the beginning of a text; -1 if there is none.
func closing(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return -1
	}
	for i := 1; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		back := 0
		for text[i-1-back] == '\\' {
			back++
		}
		if back%2 == 0 {
			return i
		}
	}
}
