package llm

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
)

//go:embed prompts
var promptFiles embed.FS

// tailLines is the number of output lines of a failed program that its error contains.
const tailLines = 5

// command runs a program as a model. It writes the question to standard input, in the layout of prompts/command.md,
// and reads the answer from standard output. The program runs in an empty temporary folder, with the environment of
// agents.
func (a *asker) command(ctx context.Context, r Request) (Response, error) {
	args, err := a.args(r.Model)
	if err != nil {
		return Response{}, err
	}
	question, err := layout(r)
	if err != nil {
		return Response{}, err
	}
	dir, err := os.MkdirTemp("", "runplan-model-")
	if err != nil {
		return Response{}, fmt.Errorf("make a folder for the model's program: %w", err)
	}
	defer os.RemoveAll(dir)
	env := append(redact.AgentEnv(a.o.Environ, a.o.PassEnv), "RUNPLAN_MODEL="+r.Model.Name, "RUNPLAN_STAGE="+
		string(r.Stage), "TMPDIR="+dir)
	began := time.Now()
	res, err := proc.Run(ctx, proc.Cmd{
		Args: args, Dir: dir, Env: env, Stdin: strings.NewReader(question),
		Limits: proc.Limits{Total: a.o.Timeout}, Keep: 16 << 10, KeepStdout: mostAnswer,
		Sweep: proc.NewTag(), Reaper: a.o.Reaper,
	})
	if err != nil {
		return Response{}, fmt.Errorf("run the model's program %s: %w; models.command sets it", args[0], err)
	}
	failed := func(format string, v ...any) error {
		return &CommandError{Program: args[0], Why: fmt.Sprintf(format, v...),
			Tail: telling(res.Tail, tailLines, r, a.o.Redact)}
	}
	text := strings.TrimRight(string(res.Stdout), "\r\n")
	switch {
	case res.Ended == proc.Cancelled:
		return Response{}, stopped(ctx, r.Model)
	case res.Ended == proc.Total:
		return Response{}, &TimeoutError{Model: r.Model.Label(), Limit: a.o.Timeout}
	case res.Signal != "":
		return Response{}, failed("was ended by %s", res.Signal)
	case !res.OK():
		return Response{}, failed("exited with status %d", res.Exit)
	case res.Truncated:
		return Response{}, &CommandError{Program: args[0], Why: fmt.Sprintf("printed more than %d MiB", mostAnswer>>20)}
	case strings.TrimSpace(text) == "":
		return Response{}, failed("printed no answer")
	}
	name := cmp.Or(r.Model.Name, filepath.Base(args[0]))
	return Response{Text: text, Model: name, Latency: time.Since(began)}, nil
}

// args expands the placeholders in a program's arguments. A program path with a slash is relative to the project.
func (a *asker) args(m Model) ([]string, error) {
	if len(m.Command) == 0 || m.Command[0] == "" {
		return nil, fmt.Errorf("ask model %s: models.command is not set", m.Name)
	}
	args := make([]string, len(m.Command))
	for i, arg := range m.Command {
		if strings.Contains(arg, "{model}") && m.Name == "" {
			return nil, fmt.Errorf("models.command contains {model}, but models.%s is not set", m.Role)
		}
		args[i] = strings.NewReplacer("{model}", m.Name, "{root}", a.o.Root).Replace(arg)
	}
	if strings.ContainsRune(args[0], '/') && !filepath.IsAbs(args[0]) {
		args[0] = filepath.Join(a.o.Root, args[0])
	}
	return args, nil
}

// layout formats the question as one text, stable parts first.
func layout(r Request) (string, error) {
	set, err := prompt.LoadEmbedded("llm", promptFiles)
	if err != nil {
		return "", err
	}
	name := "command-text"
	if r.Schema != nil {
		name = "command-json"
	}
	form, err := set.Render(name, map[string]string{"schema": string(r.Schema)})
	if err != nil {
		return "", err
	}
	return set.Render("command",
		map[string]string{"system": strings.TrimSpace(r.System), "form": strings.TrimSpace(form), "prompt": r.Prompt})
}
