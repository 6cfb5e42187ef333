package solver

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/runplan/runplan/internal/edit"
	"github.com/runplan/runplan/internal/jsondoc"
	"github.com/runplan/runplan/knowledge/retrieve"
)

// Answer is the parsed answer of a model: edits or a request for more context, never both.
type Answer struct {
	Edits []edit.Edit
	Needs *retrieve.Refinement
}

// requestKey is the only field of a request for more context.
const requestKey = "refinement_request"

// ParseAnswer parses an answer. An unusable answer is a [Fault]. If an answer has edits and a request, the edits
// win: the model can do without the context.
func ParseAnswer(text string) (Answer, error) {
	text = withoutThoughts(text)
	edits, err := edit.Parse(text, "")
	switch {
	case err == nil:
		return Answer{Edits: edits}, nil
	case !errors.Is(err, edit.ErrNone):
		return Answer{}, &Fault{Class: BadEdit, Err: err}
	}
	block, ok := jsonBlock(text)
	if !ok {
		return Answer{}, &Fault{Class: NoEdits,
			Err: errors.New("the answer contains neither an edit block nor a request for more context")}
	}
	needs, err := parseRequest(block)
	if err != nil {
		return Answer{}, &Fault{Class: BadJSON, Err: err}
	}
	return Answer{Needs: &needs}, nil
}

// withoutThoughts removes the model's reasoning before its answer. Edits in the reasoning do not count.
func withoutThoughts(text string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "<think>")
	if !ok {
		return text
	}
	_, after, _ := strings.Cut(rest, "</think>")
	return after // empty if there is no answer
}

// jsonBlock returns the first fenced JSON block, or the whole text if that is an object.
func jsonBlock(text string) (string, bool) {
	var block strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		switch {
		case fence != "" && word == fence:
			return block.String(), true
		case fence != "":
			block.WriteString(line)
		case word == "```json" || word == "~~~json":
			fence = word[:3]
		}
	}
	if fence != "" {
		return block.String(), true // without its closing fence; the parser checks whether it is complete
	}
	text = strings.TrimSpace(text)
	return text, strings.HasPrefix(text, "{")
}

// parseRequest parses a request strictly: an unknown field would be ignored without notice.
func parseRequest(block string) (retrieve.Refinement, error) {
	var r struct {
		Request *retrieve.Refinement `json:"refinement_request"`
	}
	err := jsondoc.Decode([]byte(block), &r)
	if err == nil && r.Request == nil {
		err = fmt.Errorf("it has no %q", requestKey)
	}
	if err != nil {
		return retrieve.Refinement{}, fmt.Errorf("the json block is not a request for more context: %w", err)
	}
	return *r.Request, nil
}

// Class is the class of a failed attempt (SOLVE-07). It goes into the journal and into the prompt of the next
// attempt.
type Class string

// The classes. All but the last are known before the gates run.
const (
	NoMatch             Class = "no_match"     // a search text is missing in the file
	TwoMatches          Class = "two_matches"  // a search text occurs more than once in the file
	MissingFile         Class = "missing_file" // an edit of a missing file
	FileExists          Class = "file_exists"  // a new file that already exists
	NoChange            Class = "no_change"    // an edit that replaces a text with itself
	UnsafePath          Class = "unsafe_path"
	BadEdit             Class = "bad_edit" // an invalid edit block
	NoEdits             Class = "no_edits" // prose
	BadJSON             Class = "bad_json" // an invalid request
	InsufficientContext Class = "insufficient_context"
	CutOff              Class = "cut_off"   // the answer is truncated
	NoAnswer            Class = "no_answer" // the server or a stage of retrieval failed
	Gates               Class = "gates"
)

var advice = map[Class]string{
	NoMatch:             "copy the lines to search for from the context, with their tabs and spaces, and quote only existing lines",
	TwoMatches:          "quote more of the lines around the change, so that the text occurs only once",
	MissingFile:         "edit only existing files; a new file has nothing between SEARCH and =======",
	FileExists:          "the file exists: quote the lines to replace",
	NoChange:            "the new lines must differ from the old lines",
	UnsafePath:          "name files by their path from the top of the repository, not outside it",
	BadEdit:             "each block has the lines SEARCH, ======= and REPLACE, and the path on the line before",
	NoEdits:             "answer with edit blocks, or with one refinement request",
	BadJSON:             "a request is one json block with only the given fields",
	InsufficientContext: "work with the given context, or name the missing files and symbols",
	CutOff:              "answer with the edits alone, and quote fewer lines",
	Gates:               "the edits were applied, and the checks refused the result; start from the same files again",
}

// Advice says what the next attempt must do differently.
func (c Class) Advice() string { return advice[c] }

// Fault says why an answer is unusable.
type Fault struct {
	Class Class
	Err   error
	Path  string // affected file, "" if none
}

// Error names the class and the reason.
func (f *Fault) Error() string { return fmt.Sprintf("%s: %v", f.Class, f.Err) }
func (f *Fault) Unwrap() error { return f.Err }

// summary returns the first line of the fault, for lists.
func (f *Fault) summary() string {
	first, _, _ := strings.Cut(f.Error(), "\n")
	return strings.TrimSuffix(first, ":")
}

// classify returns the class of an error of the edit engine. ok is false for a disk error, which is not the
// model's fault.
func classify(err error) (f *Fault, ok bool) {
	f = &Fault{Err: err}
	var m *edit.MatchError
	switch {
	case errors.As(err, &m):
		f.Path = m.Edit.Path
		f.Class = NoMatch
		if m.Count > 0 {
			f.Class = TwoMatches
		}
	case errors.Is(err, edit.ErrUnsafePath):
		f.Class = UnsafePath
	case errors.Is(err, edit.ErrExists):
		f.Class = FileExists
	case errors.Is(err, edit.ErrSame):
		f.Class = NoChange
	case errors.Is(err, fs.ErrNotExist):
		f.Class = MissingFile
	case errors.Is(err, edit.ErrNone):
		f.Class = NoEdits
	default:
		return nil, false
	}
	return f, true
}
