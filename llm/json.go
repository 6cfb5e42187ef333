package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/runplan/runplan/internal/jsondoc"
	jsonschema "github.com/runplan/runplan/internal/schema"
)

// JSON asks for an answer that matches r.Schema and decodes it into a T. Decoding is strict (MODEL-16): exactly one
// JSON value, no unknown or duplicate field, correct types, and the schema. Otherwise it returns an [AnswerError] with
// the answer. The response has the token counts in either case.
//
// A server enforces the schema. A program does not, and many models wrap JSON into a fence, so JSON removes one fence
// around the whole answer, for programs only.
func JSON[T any](ctx context.Context, c Completer, r Request) (T, Response, error) {
	var none T
	if len(r.Schema) == 0 {
		return none, Response{}, errors.New("ask a model for JSON: the schema is missing")
	}
	res, err := c.Complete(ctx, r)
	if err != nil {
		return none, res, err
	}
	text := res.Text
	if r.Model.Provider == Command {
		text = Unfenced(text)
	}
	v, err := ParseJSON[T](text, r.Schema)
	if wrong, ok := errors.AsType[*AnswerError](err); ok {
		wrong.Model, wrong.Raw = r.Model.Label(), res.Text
	}
	return v, res, err
}

// ParseJSON decodes an answer as strictly as [JSON]. Without a schema it checks only T.
func ParseJSON[T any](text string, schema json.RawMessage) (T, error) {
	var v, none T
	if err := strictly(text, &v); err != nil {
		return none, &AnswerError{Raw: text, Err: err}
	}
	if len(schema) > 0 {
		s, err := jsonschema.Compile(schema)
		if err != nil {
			return none, fmt.Errorf("read the schema of an answer: %w", err) // our error, not the model's
		}
		if err := s.Check([]byte(text)); err != nil {
			return none, &AnswerError{Raw: text, Err: err}
		}
	}
	return v, nil
}

func strictly(text string, v any) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8")
	}
	if err := noneTwice(text); err != nil {
		return err
	}
	return jsondoc.Decode([]byte(text), v)
}

// deepest is the highest nesting depth of objects and arrays.
const deepest = 1000

// noneTwice checks that text is one JSON value without duplicate fields. encoding/json would silently use the last
// one.
func noneTwice(text string) error {
	for d := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowInvalidUTF8(true)); ; {
		_, err := d.ReadToken()
		wrong, found := errors.AsType[*jsontext.SyntacticError](err)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			return errors.New("an object has a field twice")
		case errors.Is(err, io.EOF):
			return errors.New("it ends in the middle, or is empty")
		case found:
			return wrong.Err // without the name of the package
		case err != nil:
			return err
		case d.StackDepth() > deepest:
			return fmt.Errorf("it is more than %d deep", deepest)
		case d.StackDepth() == 0:
			if rest := strings.TrimSpace(text[d.InputOffset():]); rest != "" {
				return fmt.Errorf("%d bytes of text follow the value", len(rest))
			}
			return nil
		}
	}
}

// Unfenced removes one fence around the whole text: a first line of three or more backticks, optionally with json, and
// a last line of as many. Text outside of the fence stays, and makes the answer invalid.
func Unfenced(text string) string {
	trimmed := strings.TrimSpace(text)
	first, rest, ok := strings.Cut(trimmed, "\n")
	ticks := len(first) - len(strings.TrimLeft(first, "`"))
	info := strings.ToLower(strings.TrimSpace(first[ticks:]))
	if !ok || ticks < 3 || info != "" && info != "json" {
		return text
	}
	body, found := strings.CutSuffix(rest, "\n"+strings.Repeat("`", ticks))
	if !found || strings.Contains("\n"+body, "\n"+strings.Repeat("`", ticks)) {
		return text
	}
	return body
}
