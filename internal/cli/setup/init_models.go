package setup

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

// modelFlags holds the flags of init for models. Init writes only values that were given (CFG-01).
type modelFlags struct {
	coding, reasoning, ollama string
	command                   []string
	window, reserved          int
}

func (f *modelFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.coding, "coding-model", "", "model that writes code, such as qwen2.5-coder:3b-instruct")
	to.StringVar(&f.reasoning, "reasoning-model", "", "model that plans and judges, such as qwen3:4b-instruct-2507")
	to.StringVar(&f.ollama, "ollama", "", "URL of the Ollama server with the models, such as http://localhost:11434")
	to.StringArrayVar(&f.command, "model-command", nil,
		"instead of Ollama: program that answers, and its arguments (repeat the flag)")
	to.IntVar(&f.window, "context-window", 0, "context window: tokens of a prompt and its answer together")
	to.IntVar(&f.reserved, "reserved-tokens", 0,
		"tokens of the window reserved for instructions, task, retries and answer")
}

// wrong reports flags that exclude each other or need others.
func (f *modelFlags) wrong() error {
	named := f.coding != "" || f.reasoning != ""
	switch {
	case len(f.command) > 0 && f.ollama != "":
		return errors.New("--ollama and --model-command exclude each other")
	case named && f.ollama == "" && len(f.command) == 0:
		return errors.New("--coding-model and --reasoning-model need --ollama or --model-command")
	case f.ollama != "" && !named:
		return errors.New("--ollama needs --coding-model, --reasoning-model or both")
	case f.window < 0 || f.reserved < 0 || (f.window == 0) != (f.reserved == 0):
		return errors.New("--context-window and --reserved-tokens require each other, both above 0")
	}
	return nil
}

// section returns the text for config.toml, with a comment on each key.
func (f *modelFlags) section() (string, error) {
	var b strings.Builder
	var errs []error
	line := func(why, key string, value any) {
		text, err := toml.Marshal(map[string]any{key: value})
		if err == nil {
			fmt.Fprintf(&b, "# %s\n%s", why, text)
		}
		errs = append(errs, err)
	}
	if f.ollama != "" || len(f.command) > 0 {
		b.WriteString("\n# Language models for plan, solve, retrieve, enrich and reviews. See docs/models.md.\n[models]\n")
	}
	if len(f.command) > 0 {
		line("A program answers: it gets the question on its standard input; {model} in an argument is replaced.",
			"provider", "command")
		line("The program and its arguments.", "command", f.command)
	}
	if f.ollama != "" {
		line("The Ollama server. A local one sends no data elsewhere.", "base_url", f.ollama)
	}
	if f.coding != "" {
		line("Writes code.", "coding", f.coding)
	}
	if f.reasoning != "" {
		line("Plans and judges.", "reasoning", f.reasoning)
	}
	if f.ollama != "" || len(f.command) > 0 {
		b.WriteString(
			"# Windows, temperatures, max_tokens, timeout, retries and margin: runplan config --keys.\n# A single stage can " +
				"have its own model:\n# [models.overrides]\n# scope = \"name:tag\"\n")
	}
	if f.window > 0 {
		b.WriteString("\n[budget]\n")
		line("Maximum number of tokens of a prompt and its answer together. The model must support it.",
			"context_window", f.window)
		line("The part of them for instructions, the task, retries and the answer; the rest is for context.",
			"reserved_tokens", f.reserved)
	}
	return b.String(), errors.Join(errs...)
}
