package planparse

import (
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// blocksReader collects the literal blocks, which the embedded agent executes literally.
type blocksReader struct {
	*builder
	create string         // path of the Create: line right above
	plain  map[owner]bool // tasks with code for an unnamed file, so a model must choose the file
}

// mark reads one mark; create is the path that its line says to create.
func (r *blocksReader) mark(m *mark, create string, run *runReader) {
	o := m.owner
	above := r.create
	r.create = create
	if o.batch < 0 {
		r.create = ""
		return
	}
	batch := &r.plan.Batches[o.batch]
	add := func(block Block) {
		block.Line, block.Task = m.line, int(o.task)
		batch.Blocks = append(batch.Blocks, block)
	}
	if run.blockRun {
		for _, c := range batch.Commands[run.first:] {
			add(Block{Kind: BlockRun, Text: c.Run, Expected: c.Expected})
		}
		return
	}
	if m.kind != markFence || run.fence {
		return
	}
	lang, attrs := infoString(m.text)
	target, named := attrs["file"]
	kind, literal := fenceKind(lang)
	if edited, found := attrs["edit"]; found { // "text edit=a.txt"
		kind, literal, target, named = BlockEdit, true, edited, true
	}
	switch {
	case kind == BlockEdit, kind == BlockDiff && named:
	case named:
		kind, literal = BlockFile, true
	case above != "" && (kind != BlockShell || isScript(above)):
		kind, literal, target = BlockFile, true, above
	}
	if !literal {
		if !isOutput(lang) {
			r.plain[o] = true
		}
		return
	}
	if target != "" || named {
		p, ok := cleanPath(target)
		if !ok || strings.HasSuffix(p, "/") {
			r.report(SeverityError, m.line, "path-outside-workspace",
				"file=%s: the path must stay inside the workspace and name a file", target)
			return
		}
		target = p
	}
	add(Block{Kind: kind, Path: target, Text: r.fenceText(m.fence)})
}

// isScript reports whether a shell fence below "Create: path" can be the content of that file. Otherwise it contains
// the next commands.
func isScript(name string) bool {
	return slices.Contains([]string{"", ".sh", ".bash", ".zsh", ".bats"}, path.Ext(name))
}

func fenceKind(lang string) (BlockKind, bool) {
	switch lang {
	case "sh", "bash", "shell":
		return BlockShell, true
	case "testscript":
		return BlockTestscript, true
	case "diff", "patch":
		return BlockDiff, true
	case "edit":
		return BlockEdit, true
	}
	return "", false
}

// isOutput reports whether a fence shows output or an example, and not code for a file.
func isOutput(lang string) bool {
	return slices.Contains([]string{"", "text", "txt", "plain", "plaintext", "console", "output", "log", "mermaid"}, lang)
}

// infoWord matches a word of an info string, or an attribute with its value.
var infoWord = lazyre.New(`([^\s{},=]*)(?:(=)(?:"([^"]*)"?|'([^']*)'?|([^\s}]*)))?`)

// infoString splits "go file=cmd/main.go" into the language and the attributes. Values may be quoted.
func infoString(info []byte) (lang string, attrs map[string]string) {
	attrs = map[string]string{}
	first := true
	for _, m := range infoWord.FindAllStringSubmatch(string(info), -1) {
		switch word := strings.ToLower(m[1]); {
		case m[0] == "":
			continue
		case m[2] != "":
			attrs[word] = m[3] + m[4] + m[5]
		case first:
			lang = word
		}
		first = false
	}
	return lang, attrs
}

// finish adds the deletions and decides which tasks are literal.
func (r *blocksReader) finish() {
	named := r.named
	for i := range r.plan.Batches {
		n := 0
		for n < len(named) && named[n].batch == i {
			n++
		}
		batch := &r.plan.Batches[i]
		if len(batch.Blocks) > 0 {
			copyExpectations(batch)
			addDeletions(batch, named[:n])
			r.literal(i, named[:n])
		}
		named = named[n:]
	}
}

// addDeletions makes blocks of "Delete:" entries, also in tasks with other literal blocks.
func addDeletions(batch *Batch, named []namedFile) {
	spelled := len(batch.Blocks)
	for _, f := range named {
		if f.verb == "delete" && slices.ContainsFunc(batch.Blocks[:spelled], func(b Block) bool { return b.Task == f.task }) {
			batch.Blocks = append(batch.Blocks, Block{Kind: BlockDelete, Path: f.path, Line: f.line, Task: f.task})
		}
	}
	if len(batch.Blocks) > spelled {
		slices.SortStableFunc(batch.Blocks, func(x, y Block) int { return x.Line - y.Line })
	}
}

// copyExpectations gives Run: blocks the later expectation of their command.
func copyExpectations(batch *Batch) {
	next := 0
	for i := range batch.Blocks {
		block := &batch.Blocks[i]
		if block.Kind != BlockRun {
			continue
		}
		for next < len(batch.Commands) &&
			(batch.Commands[next].Line != block.Line || batch.Commands[next].Run != block.Text) {
			next++
		}
		if next < len(batch.Commands) {
			block.Expected = batch.Commands[next].Expected
			next++
		}
	}
}

// literal decides which tasks need no model. One block is not enough: the usual plan shows code to write, and only the
// commit is literal. So all code must have a file name, and one of the task's blocks must touch each file that the task
// changes.
func (r *blocksReader) literal(i int, named []namedFile) {
	batch := &r.plan.Batches[i]
	for k := range batch.Blocks {
		if t := batch.Blocks[k].Task; t >= 0 {
			batch.Tasks[t].Literal = !r.plain[owner{batch: int32(i), task: int32(t)}]
		}
	}
	blocks := batch.Blocks
	for _, f := range named {
		if f.task < 0 || !batch.Tasks[f.task].Literal {
			continue
		}
		t := &batch.Tasks[f.task]
		// blocks and files both come in document order: blocks before this task are never needed again
		for len(blocks) > 0 && blocks[0].Line < t.Line {
			blocks = blocks[1:]
		}
		t.Literal = touched(blocks, t, f.task, f.path)
	}
}

// touched reports whether a block writes, changes or removes the path. A mention in a git command does not count.
func touched(blocks []Block, t *Task, task int, path string) bool {
	for i := range blocks {
		b := &blocks[i]
		if b.Line > t.EndLine {
			break
		}
		if b.Task != task {
			continue
		}
		if b.Path == path {
			return true
		}
		if b.Kind == BlockRun || b.Kind == BlockFile || !strings.Contains(b.Text, path) {
			continue
		}
		for line := range strings.Lines(b.Text) {
			if strings.Contains(line, path) && !strings.HasPrefix(strings.TrimSpace(line), "git add") &&
				!strings.HasPrefix(strings.TrimSpace(line), "git commit") {
				return true
			}
		}
	}
	return false
}
