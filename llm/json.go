package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/xeipuuv/gojsonschema"
)

// JSON asks for an answer that meets r.Schema and reads it into a T. Reading is strict (MODEL-16): one JSON value and
// nothing besides, no field that T does not have, none twice, each of its type, and the schema met. Anything else is an
// [AnswerError] with the answer in it; the response tells what it took all the same.
//
// A server that knows schemas holds the model to it. A program does not, and many put a fence around JSON out of habit:
// one around the whole answer is taken off, for programs only.
func JSON[T any](ctx context.Context, c Completer, r Request) (T, Response, error) {
	var none T
	if len(r.Schema) == 0 {
		return none, Response{}, errors.New("ask a model for JSON: there is no schema")
	}
	res, err := c.Complete(ctx, r)
	if err != nil {
		return none, res, err
	}
	text := res.Text
	if r.Model.Provider == Command {
		text = unfenced(text)
	}
	v, err := ParseJSON[T](text, r.Schema)
	var wrong *AnswerError
	if errors.As(err, &wrong) {
		wrong.Model, wrong.Raw = r.Model.Label(), res.Text
	}
	return v, res, err
}

// ParseJSON reads an answer as strictly as [JSON] does. Without a schema, only T decides.
func ParseJSON[T any](text string, schema json.RawMessage) (T, error) {
	var v, none T
	if err := strictly(text, &v); err != nil {
		return none, &AnswerError{Raw: text, Err: err}
	}
	if len(schema) > 0 {
		s, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(schema))
		if err != nil {
			return none, fmt.Errorf("read the schema of an answer: %w", err) // ours, and not the model's fault
		}
		res, err := s.Validate(gojsonschema.NewStringLoader(text))
		if err != nil {
			return none, &AnswerError{Raw: text, Err: err}
		}
		if !res.Valid() {
			return none, &AnswerError{Raw: text, Err: against(res.Errors())}
		}
	}
	return v, nil
}

// against names the first places that do not meet the schema. What stands there is the model's and is left out.
func against(list []gojsonschema.ResultError) error {
	var places []string
	for i, e := range list {
		if i == 3 {
			places = append(places, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		places = append(places, fmt.Sprintf("%s: %s", e.Field(), strings.ReplaceAll(e.Type(), "_", " ")))
	}
	return errors.New("it does not meet the schema at " + strings.Join(places, "; "))
}

func strictly(text string, v any) error {
	if !utf8.ValidString(text) {
		return errors.New("it is not UTF-8")
	}
	if err := noneTwice(text); err != nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// deepest bounds how far objects and arrays may lie in each other.
const deepest = 1000

// noneTwice checks that text is one JSON value and that no object has a field twice: encoding/json would take the last,
// silently.
func noneTwice(text string) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	type level struct {
		names map[string]bool // nil in an array
		key   bool            // a name comes next
	}
	var open []level
	for {
		tok, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("it ends in the middle, or is empty")
		case err != nil:
			return err
		}
		switch d := tok.(type) {
		case json.Delim:
			if d == '}' || d == ']' {
				open = open[:len(open)-1]
				break
			}
			if n := len(open); n > 0 {
				open[n-1].key = open[n-1].names != nil
			}
			l := level{}
			if d == '{' {
				l = level{map[string]bool{}, true}
			}
			if open = append(open, l); len(open) > deepest {
				return fmt.Errorf("it is more than %d deep", deepest)
			}
			continue
		case string:
			if n := len(open); n > 0 && open[n-1].key {
				if open[n-1].names[d] {
					return errors.New("an object has a field twice")
				}
				open[n-1].names[d], open[n-1].key = true, false
				continue
			}
		}
		if n := len(open); n > 0 {
			open[n-1].key = open[n-1].names != nil
			continue
		}
		break
	}
	if rest := strings.TrimSpace(text[dec.InputOffset():]); rest != "" {
		return fmt.Errorf("%d bytes of text come after the value", len(rest))
	}
	return nil
}

// unfenced takes off one fence around the whole text: three or more backticks with json or nothing behind them, on the
// first line, and as many on the last. Text outside of it stays, and makes the answer none.
func unfenced(text string) string {
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
