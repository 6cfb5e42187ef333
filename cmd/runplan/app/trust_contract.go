package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/internal/config"
	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/prompt"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/runner"
	"github.com/runplan/runplan/trust"
)

// userDir returns the folder of the user's own files: $RUNPLAN_HOME, or runplan in the system's settings folder.
func (a *App) userDir() (string, error) {
	file, err := config.UserFile(a.Getenv)
	if err != nil {
		return "", usage(err, "set RUNPLAN_HOME to a folder of your own")
	}
	return filepath.Dir(file), nil
}

// cacheDir returns the folder for data that runplan can rebuild: $RUNPLAN_HOME, or runplan in the system's cache
// folder. It returns "" if neither exists.
func (a *App) cacheDir() string {
	if home, ok := a.Getenv("RUNPLAN_HOME"); ok && home != "" {
		return home
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "runplan")
}

// ofUser adds a hint to an error about the user's own files. Hints for files of a repository do not fit there.
func (a *App) ofUser(err error) error {
	var at *fs.PathError
	dir, other := a.userDir()
	if other != nil || !errors.As(err, &at) {
		return err
	}
	return fail(exitCannotRun, err,
		"runplan keeps your own files in %s; see that it can be written to, or set RUNPLAN_HOME to another folder", dir)
}

// keeper returns the keeper of this user's contract.
func (a *App) keeper() (trust.Keeper, error) {
	dir, err := a.userDir()
	if err != nil {
		return trust.Keeper{}, err
	}
	return trust.Keeper{Dir: dir, LoopVersion: runner.LoopVersion, Now: time.Now, Redact: redact.New(a.Environ).String},
		nil
}

// contract returns the contract of this user.
func (a *App) contract(ctx context.Context) (trust.Contract, error) {
	k, err := a.keeper()
	if err != nil {
		return trust.Contract{}, err
	}
	c, err := k.Contract(ctx)
	return c, trustTrouble(err)
}

// trustTrouble adds the exit code and a hint to errors of package trust.
func trustTrouble(err error) error {
	var refused *trust.Error
	if errors.As(err, &refused) {
		return fail(exitFailed, err, "%s", refused.Do)
	}
	return err
}

// rootHere returns the root of the repository around the current folder, or "" if there is none.
func (a *App) rootHere(ctx context.Context) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	repo, err := git.OpenReadOnly(ctx, dir, a.Environ)
	if errors.Is(err, git.ErrNotRepo) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return repo.Root, nil
}

func newTrustCommand(a *App) *cobra.Command {
	var bootstrap, asJSONFlag bool
	var owner, channel string
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Show the owner and what runplan may do without asking",
		Long: `Show the contract: who the owner is, the tier from 0 to 5, what runplan may do by itself at it, and
what is never automatic. Without an owner it asks who that is. --bootstrap names the owner, at tier 0;
runplan promote and demote change the tier. All of it lies in $RUNPLAN_HOME: owner.toml for people, and
audit.sqlite, which is what counts. docs/trust.md tells more.` + exitStatus(exitOK, exitFailed, exitUsage, exitCannotRun),
		Example: `  runplan trust --bootstrap --owner ada --channel cli
  runplan trust
  runplan trust check merge`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := a.keeper()
			if err != nil {
				return err
			}
			switch given := owner != "" || channel != ""; {
			case given && !bootstrap:
				return usage(errors.New("--owner and --channel go with --bootstrap"),
					"runplan trust --bootstrap --owner NAME --channel WHERE")
			case bootstrap && (owner == "" || channel == ""):
				return usage(errors.New("--bootstrap needs --owner and --channel"),
					"runplan trust --bootstrap --owner NAME --channel WHERE")
			case bootstrap:
				if err := a.bootstrap(cmd.Context(), k, owner, channel); err != nil {
					return err
				}
			}
			return a.showContract(cmd.Context(), k, asJSONFlag)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&bootstrap, "bootstrap", false, "name the owner, at tier 0")
	f.StringVar(&owner, "owner", "", "with --bootstrap: who signs")
	f.StringVar(&channel, "channel", "", "with --bootstrap: how the owner is reached, such as cli")
	f.BoolVar(&asJSONFlag, "json", false, "print a JSON object")
	cmd.AddCommand(newTrustConfigCommand(a), newTrustCheckCommand(a), newAuditCommand(a), newIdentityCommand(a))
	return cmd
}

func (a *App) bootstrap(ctx context.Context, k trust.Keeper, owner, channel string) error {
	if err := a.notAnAgent("naming the owner"); err != nil {
		return err
	}
	made, err := k.Bootstrap(ctx, owner, channel)
	if err == nil && !made {
		fmt.Fprintln(a.Stderr, "this is already the case; nothing was changed")
	}
	return trustTrouble(err)
}

// contractJSON is the output of runplan trust --json.
type contractJSON struct {
	trust.Contract
	Allowed []trust.Rule     `json:"allowed"`
	Refused []trust.Rule     `json:"refused"`
	Gates   []trust.GateRule `json:"gates"`
}

func (a *App) showContract(ctx context.Context, k trust.Keeper, asJSONFlag bool) error {
	c, err := k.Contract(ctx)
	if err != nil {
		return trustTrouble(err)
	}
	if asJSONFlag {
		out := contractJSON{Contract: c, Gates: trust.Gates()}
		out.Allowed, out.Refused = c.Split()
		return asJSON(a.Stdout, out)
	}
	prompts, err := trust.LoadPrompts()
	if err != nil {
		return err
	}
	text, err := c.Text(prompts)
	if err == nil {
		fmt.Fprint(a.Stdout, text)
	}
	return err
}

func newTrustCheckCommand(a *App) *cobra.Command {
	confidence := -1
	cmd := &cobra.Command{
		Use:   "check ACTION",
		Short: "Report whether runplan may take an action by itself",
		Long: `Tell whether the contract lets runplan take an action by itself, in the repository around the current
folder. Where it does not, it says what would change that. The actions are those that runplan trust lists.

The action merge also needs the bar that the owner set, and the confidence of the review (--confidence): without
both a merge is refused.` + exitStatus(exitOK, exitFailed, exitUsage, exitCannotRun),
		Args: exactlyOne("the action"),
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := trust.ParseAction(args[0])
			if err != nil {
				return usage(err, "runplan trust tells what they mean")
			}
			if cmd.Flags().Changed("confidence") && action != trust.Merge {
				return usage(errors.New("--confidence goes with merge"), "see: runplan trust check --help")
			}
			c, err := a.contract(cmd.Context())
			if err != nil {
				return err
			}
			root, err := a.rootHere(cmd.Context())
			if err != nil {
				return err
			}
			switch {
			case action != trust.Merge:
				err = c.Check(action, root)
			case cmd.Flags().Changed("confidence"):
				err = c.AutoMerge(root, &confidence)
			default:
				err = c.AutoMerge(root, nil)
			}
			if err == nil {
				fmt.Fprintf(a.Stdout, "%s: allowed at tier %d\n", action, c.TierIn(root))
			}
			return trustTrouble(err)
		},
	}
	for _, r := range trust.Table() {
		cmd.ValidArgs = append(cmd.ValidArgs, string(r.Action))
	}
	cmd.Flags().IntVar(&confidence, "confidence", -1, "confidence of the review, in percent")
	return cmd
}

// identity reads the identity documents of a project.
func (p *project) identity() ([]trust.Document, error) {
	dir := trust.IdentityFolder(filepath.Join(p.layout.Root, "prompts"))
	docs, err := trust.LoadIdentity(p.rel(dir), os.DirFS(dir))
	if err != nil {
		return nil, usage(err, "docs/trust.md tells what the identity documents are for")
	}
	return docs, nil
}

func newIdentityCommand(a *App) *cobra.Command {
	var asJSONFlag bool
	cmd := &cobra.Command{
		Use:   "identity",
		Short: "Print what heads a prompt: who this is, how it is built, how the project is built",
		Long: `Print the identity documents in their order: RUNPLAN.md, ARCHITECTURE.md, PROJECT_MAP.md. The first two
are built in; .runplan/prompts/identity/ may have others in their place, and has to have the third: how this
project is built. A missing document is an error.` + exitStatus(exitOK, exitUsage),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			docs, err := p.identity()
			if err != nil {
				return err
			}
			for i := range docs {
				docs[i].Text = redact.Clean(docs[i].Text)
			}
			if asJSONFlag {
				return asJSON(a.Stdout, docs)
			}
			fmt.Fprint(a.Stdout, trust.IdentityText(docs))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSONFlag, "json", false, "print a JSON array")
	return cmd
}

// trustPrompts returns the prompts of package trust. Those of the project override the built-in ones.
func (p *project) trustPrompts() (prompt.Set, error) {
	set, err := trust.LoadPrompts(p.prompts())
	if err != nil {
		return set, usage(err, "correct the project's prompts, or remove them")
	}
	return set, nil
}
