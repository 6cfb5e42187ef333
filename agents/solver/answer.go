package solver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/runplan/runplan/internal/edit"
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
	dec := json.NewDecoder(bytes.NewReader([]byte(block)))
	dec.DisallowUnknownFields()
	err := dec.Decode(&r)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("text follows it")
		} else if r.Request == nil {
			err = fmt.Errorf("it has no %q", requestKey)
		}
	}
	if err != nil {
		return retrieve.Refinement{}, fmt.Errorf("the json block is not a request for more context: %w", err)
	}
	return *r.Request, nil
}
