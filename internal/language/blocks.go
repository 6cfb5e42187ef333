package language

import (
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
)

// Block is a fenced block of code in Markdown.
type Block struct {
	Word       string // behind the fence, in lower case, such as "python"
	Text       string // its lines, without the indentation of the fence
	Start, End int    // of its lines in the Markdown
}

var fencedBlock = lazyre.New("(?m)^([ \t]*)```([\\w+-]*)[^\n]*\n((?s:.*?))^[ \t]*```")

// Blocks returns the fenced blocks of a Markdown text, in order.
func Blocks(markdown string) (out []Block) {
	for _, m := range fencedBlock.FindAllStringSubmatchIndex(markdown, -1) {
		b := Block{Word: strings.ToLower(markdown[m[4]:m[5]]), Start: m[6], End: m[7]}
		indent := markdown[m[2]:m[3]]
		b.Text = strings.TrimPrefix(strings.ReplaceAll("\n"+markdown[m[6]:m[7]], "\n"+indent, "\n"), "\n")
		out = append(out, b)
	}
	return out
}

// words are the words behind the fences of languages.
var words = map[string]string{
	"py": Python, "python": Python, "python3": Python, "pycon": Python, "go": Go, "golang": Go,
	"rb": ruby, "ruby": ruby, "irb": ruby, "js": Node, "mjs": Node, "jsx": Node, "javascript": Node, "node": Node,
	"ts": Node, "tsx": Node, "typescript": Node,
}

// OfWord returns the language of a block as [OfSource] does, by the word behind its fence; "" if it is not known.
func OfWord(word string) string { return words[word] }
