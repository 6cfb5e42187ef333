package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/chat"
	"github.com/runplan/runplan/training/curate"
)

// side writes one side of the split.
func (j *job) side(ctx context.Context, w io.Writer, name string, count *curate.Side) error {
	good, err := j.counterparts(name)
	if err != nil {
		return err
	}
	return j.each(name, func(e training.Example) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := j.Canary.Check(e); err != nil {
			return err
		}
		rows, why := j.rows(e, good)
		if why != "" {
			j.leave(e.ID, why, "")
			return nil
		}
		for _, r := range rows {
			if err := j.row(ctx, w, name, r, count); err != nil {
				return fmt.Errorf("example %s: %w", e.ID, err)
			}
		}
		return nil
	})
}

func (j *job) each(name string, do func(training.Example) error) error {
	for e, err := range training.ReadFile(filepath.Join(j.in, name)) {
		if err == nil {
			err = do(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// counterparts returns the good answers to prompts that also have a bad answer. Only preference formats need them.
func (j *job) counterparts(name string) (map[string]string, error) {
	if j.Format.Teaches != Preferences {
		return nil, nil
	}
	bad := map[string]bool{}
	err := j.each(name, func(e training.Example) error {
		if !e.Positive && e.Rejected == "" {
			bad[curate.PromptSum(e)] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	good := map[string]string{}
	return good, j.each(name, func(e training.Example) error {
		if _, known := good[curate.PromptSum(e)]; e.Positive && bad[curate.PromptSum(e)] && !known && j.licensed(e) == "" {
			good[curate.PromptSum(e)] = e.Completion
		}
		return nil
	})
}

func (j *job) licensed(e training.Example) curate.Reason {
	switch {
	case len(j.Licenses) > 0 && e.Origin.License == "":
		return curate.NoLicense
	case !curate.Allowed(j.Licenses, e.Origin.License):
		return curate.OtherLicense
	}
	return ""
}

// rows returns the lines that a format makes of an example: none, one or more.
func (j *job) rows(e training.Example, good map[string]string) ([]training.Example, curate.Reason) {
	if why := j.licensed(e); why != "" {
		return nil, why
	}
	switch j.Format.Teaches {
	case Answers:
		if !e.Positive {
			return nil, NotLearnt
		}
	case Preferences:
		if e.Rejected != "" {
			break
		}
		better, ok := good[curate.PromptSum(e)]
		if e.Positive || !ok {
			return nil, NoCounterpart
		}
		e.Completion, e.Rejected = better, e.Completion
	case Verdicts:
		if e.Rejected != "" {
			yes, no := e, e
			yes.Positive, yes.Rejected = true, ""
			no.Positive, no.Completion, no.Rejected = false, e.Rejected, ""
			return []training.Example{yes, no}, ""
		}
	}
	return []training.Example{e}, ""
}

// row checks the length and the schema of a line and writes it.
func (j *job) row(ctx context.Context, w io.Writer, name string, e training.Example, count *curate.Side) error {
	line, texts, err := j.line(ctx, e)
	if err != nil {
		return err
	}
	n, more := 0, false
	for _, t := range texts {
		c, err := j.Counter.Count(ctx, t, j.Limit)
		if more = more || errors.Is(err, chat.ErrMore); err != nil && !more {
			return err
		}
		n = max(n, c)
	}
	if more {
		n = max(n, j.Limit)
	}
	if n > j.Limit || more {
		l := Long{e.ID, name, n, more}
		j.m.TooLong = append(j.m.TooLong, l)
		if j.TooLong != Keep {
			j.leave(e.ID, curate.TooLong, l.Count())
			return nil
		}
	}
	j.m.Longest = max(j.m.Longest, n)
	if name == curate.ValidationFile {
		j.taken[e.ID] = true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		return err
	}
	if err := j.check.Check(b.Bytes()); err != nil {
		return fmt.Errorf("schema %s: %w", j.m.Schema, err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	j.tell(e, count)
	return nil
}

// line returns the line of an example and the texts that a model would see.
func (j *job) line(ctx context.Context, e training.Example) (line any, texts []string, err error) {
	if j.Template == nil {
		var b strings.Builder
		for _, m := range e.Prompt {
			b.WriteString(m.Content)
		}
		prompt := b.String()
		texts = []string{prompt + e.Completion}
		if j.Format.Teaches == Preferences {
			texts = append(texts, prompt+e.Rejected)
		}
		return j.Format.fromChat(e), texts, nil
	}
	good, err := j.Template.Pair(ctx, e.Prompt, e.Completion)
	if err != nil {
		return nil, nil, err
	}
	texts = []string{good.Prompt + good.Completion}
	var bad chat.Pair
	if j.Format.Teaches == Preferences {
		if bad, err = j.Template.Pair(ctx, e.Prompt, e.Rejected); err != nil {
			return nil, nil, err
		}
		texts = append(texts, bad.Prompt+bad.Completion)
	}
	if j.Format.Text == "" {
		return j.Format.fromChat(e), texts, nil
	}
	good.Prompt = strings.TrimPrefix(good.Prompt, j.DropBegin)
	return j.Format.fromText(good, bad, e.Positive), texts, nil
}

// held writes the exported validation examples in the common format.
func (j *job) held(w io.Writer) error {
	return j.each(curate.ValidationFile, func(e training.Example) error {
		if !j.taken[e.ID] {
			return nil
		}
		line, err := e.Encode()
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	})
}

func (j *job) leave(id string, why curate.Reason, note string) {
	j.m.LeftOut[why]++
	j.out = append(j.out, curate.Out{ID: id, Reason: why, Note: note})
}

func (j *job) tell(e training.Example, s *curate.Side) {
	s.Add(e)
	j.m.Licenses[e.Origin.License]++
	j.m.Repos[e.Origin.Repo]++
}
