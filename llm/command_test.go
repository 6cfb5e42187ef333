package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/llm"
)

// program writes a shell script that replaces a CLI, and returns a request to it.
func program(t *testing.T, script string) (llm.Options, llm.Request) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ask.sh"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	o := llm.Options{Environ: append(os.Environ(), "MY_API_KEY=k1", "OTHER_API_KEY=k2"), PassEnv: []string{"MY_API_KEY"},
		Root: dir, Timeout: 20 * time.Second}
	m := llm.Model{Role: llm.Reasoning, Name: "opus", Provider: llm.Command,
		Command: []string{"./ask.sh", "--model", "{model}", "{root}/x"}, Window: 10000}
	return o, llm.Request{Model: m, Stage: llm.Review, System: "Be fair.", Prompt: secretPrompt}
}

// The command gets the question on standard input in the layout of prompts/command.md, and the same environment as an
// agent.
func TestCommandGetsQuestionOnStdin(t *testing.T) {
	o, r := program(t,
		`cat > "$0.stdin"; echo "$@" > "$0.args"; env > "$0.env"; pwd > "$0.pwd"; ls -A > "$0.ls"; echo it is fine; echo progress >&2`)
	for form, schema := range map[string]string{
		"Print the answer and nothing else. Change no files.": "",
		"Print one JSON value that meets this JSON schema, and nothing else: no text before it, none after it. Change no files.\n\n```json\n{\"type\":\"string\"}\n```": `{"type":"string"}`,
	} {
		r.Schema = nil
		if schema != "" {
			r.Schema = json.RawMessage(schema)
		}
		res, err := llm.New(o).Complete(t.Context(), r)
		if err != nil || res.Text != "it is fine" || res.Model != "opus" || res.PromptTokens != nil || res.Latency <= 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join(o.Root, "ask.sh."+name))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if diff := cmp.Diff("# Instructions\n\nBe fair.\n\n# Form of the answer\n\n"+form+"\n\n# Task\n\n"+secretPrompt+"\n",
			read("stdin")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if got := read("args"); got != "--model opus "+o.Root+"/x\n" {
			t.Errorf("arguments %q", got)
		}
		env := read("env")
		for text, want := range map[string]bool{"MY_API_KEY=k1": true, "OTHER_API_KEY": false, "RUNPLAN_MODEL=opus": true,
			"RUNPLAN_STAGE=review": true} {
			if strings.Contains(env, text) != want {
				t.Errorf("%s in the environment: %v", text, !want)
			}
		}
		dir := strings.TrimSpace(read("pwd"))
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || read("ls") != "" {
			t.Errorf("the program's folder %s is empty at the start and gone at the end: %v", dir, err)
		}
	}
}

func TestCommandFails(t *testing.T) {
	command := func(err error) bool { return errors.As(err, new(*llm.CommandError)) }
	for name, c := range map[string]struct {
		script string
		check  func(error) bool
		text   string
	}{
		"it exits with a status": {`echo "no credit left" >&2; exit 3`, command,
			"exited with status 3; its last lines:\nno credit left"},
		"it says nothing": {`echo thinking >&2`, command, "printed no answer; its last lines:\nthinking"},
		"it is killed":    {`kill -9 $$`, command, "was ended by SIGKILL"},
		"it quotes the question": {`cat; echo then it fails; exit 1`, command,
			"[a line that quotes the question]\nthen it fails"},
		"it shows a secret":      {`echo "key is topsecret"; exit 1`, command, "key is [hidden]"},
		"it steers the terminal": {`printf '\033[31mred\033[0m\n'; exit 1`, command, "\nred"},
		"it hangs, and a child too": {`sleep 300 & sleep 300`,
			func(err error) bool { return errors.As(err, new(*llm.TimeoutError)) }, "did not answer within 1s"},
		"it never stops": {`yes`,
			func(err error) bool { return command(err) || errors.As(err, new(*llm.TimeoutError)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, r := program(t, "echo >> \"$0.ran\"\n"+c.script)
			o.Timeout, o.Retries = 20*time.Second, 3
			if strings.Contains(name, "hangs") || strings.Contains(name, "never") {
				o.Timeout = time.Second
			}
			o.Redact = func(s string) string { return strings.ReplaceAll(s, "topsecret", "[hidden]") }
			res, err := llm.New(o).Complete(t.Context(), r)
			if err == nil || !c.check(err) || !strings.Contains(err.Error(), c.text) || res.Text != "" {
				t.Fatalf("%T: %v", err, err)
			}
			for _, no := range []string{"hunter2", "topsecret", "\033"} {
				if strings.Contains(err.Error(), no) {
					t.Errorf("%q is in the error: %v", no, err)
				}
			}
			if ran, _ := os.ReadFile(filepath.Join(o.Root, "ask.sh.ran")); len(ran) != 1 {
				t.Errorf("it ran %d times; a program that may cost money is asked once", len(ran))
			}
		})
	}
}

func TestCommandCancelled(t *testing.T) {
	o, r := program(t, `sleep 300`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := llm.New(o).Complete(ctx, r); !errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, new(*llm.TimeoutError)) {
		t.Fatal(err)
	}
}

func TestCommandNeedsProgramAndModel(t *testing.T) {
	o, r := program(t, "")
	r.Model.Command = []string{"no-such-program-anywhere"}
	if _, err := llm.New(o).Complete(t.Context(), r); err == nil ||
		!strings.Contains(err.Error(), "models.command sets it") {
		t.Error(err)
	}
	r.Model.Command, r.Model.Name = []string{"ask", "{model}"}, ""
	if _, err := llm.New(o).Complete(t.Context(), r); err == nil ||
		!strings.Contains(err.Error(), "models.reasoning is not set") {
		t.Error(err)
	}
}
