package models

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/tokens"
	"github.com/runplan/runplan/llm"
)

// BudgetFlags holds the flags for the size of a prompt (BUD-08).
type BudgetFlags struct {
	window   int
	reserved int
	file     string
	cmd      *cobra.Command
}

// Add adds the flags to a command.
func (f *BudgetFlags) Add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.window, "context-window", 0,
		"maximum number of tokens of prompt and answer of the executing model together")
	cmd.Flags().IntVar(&f.reserved, "reserved-tokens", 0,
		"tokens of the window reserved for instructions, task, retries and answer")
	cmd.Flags().StringVar(&f.file, "budget-config", "", "TOML file with context_window and reserved_tokens")
	f.cmd = cmd
}

// Budget returns the token budget for the model of a role. It takes flags, else the file, else the settings, and never
// mixes them. There is no default (C-03).
func (f *BudgetFlags) Budget(c *config.Loaded, role llm.Role) (tokens.Budget, error) {
	window, reserved, file := f.cmd.Flags().Changed("context-window"), f.cmd.Flags().Changed("reserved-tokens"),
		f.cmd.Flags().Changed("budget-config")
	b := tokens.Budget{Window: f.window, Reserved: f.reserved}
	var err error
	switch {
	case file && (window || reserved):
		return b, cli.Usage(errors.New("--budget-config excludes --context-window and --reserved-tokens"),
			"give the file, or the two figures")
	case window != reserved:
		return b, cli.Usage(errors.New("--context-window and --reserved-tokens require each other"), "give both")
	case file:
		b, err = readBudget(f.file)
	case !window:
		b, err = configuredBudget(c, role)
	}
	if err != nil {
		return b, err
	}
	b.Margin = c.Models.Margin
	if err := b.Validate(); err != nil {
		return b, cli.Usage(err,
			"the reserved tokens must be fewer than the window, such as --context-window 32768 --reserved-tokens 4096")
	}
	return b, nil
}

// readBudget reads a file that contains exactly these two numbers.
func readBudget(path string) (b tokens.Budget, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return b, cli.Usage(fmt.Errorf("read the budget: %w", err), "--budget-config needs a TOML file")
	}
	var in struct {
		Window   *int `toml:"context_window"`
		Reserved *int `toml:"reserved_tokens"`
	}
	hint := "write two lines: context_window = 32768 and reserved_tokens = 4096"
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&in); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) {
			err = errors.New("the file has other keys")
		}
		return b, cli.Usage(fmt.Errorf("%s: %w", path, err), "%s", hint)
	}
	if in.Window == nil || in.Reserved == nil {
		return b, cli.Usage(fmt.Errorf("%s: context_window or reserved_tokens is missing", path), "%s", hint)
	}
	return tokens.Budget{Window: *in.Window, Reserved: *in.Reserved}, nil
}

// configuredBudget takes the budget from the settings: the window of the role's model, or the common window (BUD-03).
func configuredBudget(c *config.Loaded, role llm.Role) (b tokens.Budget, err error) {
	b = tokens.Budget{Window: c.Models.CodingWindow, Reserved: c.Budget.ReservedTokens}
	if role == llm.Reasoning {
		b.Window = c.Models.ReasoningWindow
	}
	b.Window = cmp.Or(b.Window, c.Budget.ContextWindow)
	var missing []string
	if b.Window == 0 {
		missing = append(missing, "budget.context_window")
	}
	if c.Source("budget.reserved_tokens") == "default" {
		missing = append(missing, "budget.reserved_tokens")
	}
	if len(missing) > 0 {
		return b, cli.Usage(fmt.Errorf("the budget is incomplete: %s missing", strings.Join(missing, " and ")),
			"give --context-window and --reserved-tokens, or --budget-config FILE, or set [budget] in .runplan/config.toml")
	}
	return b, nil
}
