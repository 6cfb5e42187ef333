package owner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/feedback"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/ui"
	"github.com/runplan/runplan/llm"
	"github.com/runplan/runplan/trust"
	"github.com/runplan/runplan/trust/intent"
)

// NewInboxCommand returns the command inbox.
func NewInboxCommand(a *cli.App) *cobra.Command {
	var all bool
	cmd := a.Command(cli.With{Exits: "0 2 5", JSON: "a JSON array"}, &cobra.Command{
		Use:   "inbox",
		Short: "List open messages to runplan",
		Long: `List the open messages in the inbox of this user: critical ones first, then questions, then notes. Items
are never removed; runplan inbox done ID marks one as done, and --all lists those too.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			items, err := control.InboxItems(cmd.Context(), a, all)
			if err != nil {
				return err
			}
			if err := showInbox(a, items); err != nil || a.JSON {
				return err
			}
			return pointToApprovals(cmd.Context(), a)
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "include done items")
	cmd.AddCommand(newInboxShowCommand(a), newInboxDoneCommand(a), newInboxEscalateCommand(a), newInboxProcessCommand(a))
	return cmd
}

func showInbox(a *cli.App, items []store.InboxItem) error {
	var rows ui.Rows
	for _, i := range items {
		rows.Add(i.ID, i.Kind, i.At.Local().Format("2006-01-02 15:04"), i.Status, cmp.Or(i.Intent, "-"),
			control.RepoName(i), ui.Brief(i.Body, cellWidth))
	}
	header := []string{">id", "kind", "at", "status", "intent", "repository", "text"}
	return a.PrintTable(items, "no message waits", header, rows)
}

// onItem makes the function of a command about one item of the inbox.
func onItem(a *cli.App, do func(ctx context.Context, box *store.Inbox, id int64) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id < 1 {
			return cli.Usage(fmt.Errorf("%q is not the number of an inbox item", args[0]), "runplan inbox --all lists them")
		}
		return withInbox(cmd.Context(), a, func(box *store.Inbox) error { return do(cmd.Context(), box, id) })
	}
}

// withInbox opens the inbox for writing. It does not create a missing inbox.
func withInbox(ctx context.Context, a *cli.App, do func(*store.Inbox) error) error {
	dir, err := a.UserDir()
	if err != nil {
		return err
	}
	unknown := cli.On(cli.ExitUsage, "runplan inbox --all lists them", store.ErrNoItem)
	if _, err := os.Stat(trust.InboxFile(dir)); errors.Is(err, fs.ErrNotExist) {
		return cli.Advise(store.ErrNoItem, unknown)
	}
	box, err := store.OpenInbox(ctx, trust.InboxFile(dir))
	if err != nil {
		return err
	}
	defer box.Close()
	return cli.Advise(do(box), unknown)
}

func newInboxShowCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 2 5"}, &cobra.Command{
		Use:   "show ID",
		Short: "Print one item of the inbox",
		Long:  "Print one item of the inbox: its text, its intent, and the result.",
		Args:  cli.ExactlyOne("the number of an item"),
		RunE: onItem(a, func(ctx context.Context, box *store.Inbox, id int64) error {
			i, err := box.Item(ctx, id)
			if err != nil {
				return err
			}
			i = control.ShownItem(i)
			fmt.Fprintf(a.Stdout, "%s %d, %s, by %s%s: %s\n\n%s\n", i.Kind, i.ID, i.At.Local().Format("2006-01-02 15:04"),
				ui.Sanitize(i.Channel), unlessEmpty(" in ", i.Repo), i.Status, strings.TrimRight(i.Body, "\n"))
			if i.Intent != "" {
				fmt.Fprintf(a.Stdout, "\ntaken for %s (%d %%): %s\n", ui.Sanitize(i.Intent), *i.Confidence, i.Reply)
			}
			if i.Outcome != "" {
				fmt.Fprintf(a.Stdout, "\ndone: %s\n", i.Outcome)
			}
			return nil
		}),
	})
}

// unlessEmpty returns the text with a prefix, or "" for "".
func unlessEmpty(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + ui.Sanitize(text)
}

func newInboxDoneCommand(a *cli.App) *cobra.Command {
	var outcome string
	return a.Command(cli.With{Exits: "0 2 5"}, &cobra.Command{
		Use:   "done ID",
		Short: "Mark an item of the inbox as done",
		Long:  "Mark an item of the inbox as done. It stays stored, and runplan inbox --all lists it.",
		Args:  cli.ExactlyOne("the number of an item"),
		RunE: onItem(a, func(ctx context.Context, box *store.Inbox, id int64) error {
			changed, err := box.Finish(ctx, id, time.Now(), redact.New(a.Environ).String(outcome))
			if err != nil {
				return err
			}
			how := "is"
			if !changed {
				how = "was already"
			}
			_, err = fmt.Fprintf(a.Stdout, "item %d %s done\n", id, how)
			return err
		}),
	}, func(f *cli.Flags) { f.StringVar(&outcome, "outcome", "", "the result") })
}

func newInboxProcessCommand(a *cli.App) *cobra.Command {
	return a.Command(cli.With{Exits: "0 1 2 5 130", Trust: true}, &cobra.Command{
		Use:   "process",
		Short: "Have a model classify new items and reply to them",
		Long: `Have a model classify the intent of each new item: one of a fixed list of intents, or free_form if it is
less than 70 % sure or gives no listed intent. Each intent has a reply. A reply proposes a command and runs nothing:
text in the inbox never changes the tier. Items stay open until a person marks them as done.

It needs [models] in the configuration, and the identity documents, which begin each question: runplan trust identity.`,
		Args: cobra.NoArgs,
		RunE: a.StoppableInProject(processInbox),
	})
}

func processInbox(ctx context.Context, p *cli.Project, _ []string) error {
	c, err := classifier(ctx, p)
	if err != nil {
		return err
	}
	contract, err := p.Contract(ctx)
	if err != nil {
		return err
	}
	items, err := control.InboxItems(ctx, p.App, false)
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(i store.InboxItem) bool { return i.Intent != "" })
	if len(items) == 0 {
		fmt.Fprintln(p.Stdout, "nothing new")
		return nil
	}
	if err := p.Layout.Make(); err != nil {
		return err
	}
	journal, err := store.OpenJournal(ctx, p.Layout.Journal())
	if err != nil {
		return err
	}
	defer journal.Close()
	secrets := p.Redactor()
	var call store.Call // the last one; no model may be asked about an item
	keep := func(_ context.Context, c store.Call) error { call = c; return nil }
	c.LLM = cli.LogCalls(c.LLM, cli.NewTaskID(), cli.IntentCall, secrets, keep, nil)
	for _, i := range items {
		call = store.Call{}
		class, err := c.Classify(ctx, i.Body)
		if err != nil { // such as an answer that cannot be used (RETR-12)
			call.Error = redact.Clean(secrets.String(err.Error()))
		}
		if call.Task != "" {
			if err := journal.AddCall(context.WithoutCancel(ctx), call); err != nil {
				return err
			}
		}
		if err != nil {
			// Items read so far are stored. The rest waits for the next call.
			return unreadable(ctx, p, i.ID, err)
		}
		reply := intent.Reply(class, contract)
		err = withInbox(ctx, p.App, func(box *store.Inbox) error {
			_, err := box.Read(ctx, i.ID, string(class.Intent), class.Confidence, reply)
			return err
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(p.Stdout, "%s %d: %s (%d %%): %s\n", i.Kind, i.ID, class.Intent, class.Confidence, reply)
	}
	return nil
}

// unreadable explains why an item could not be classified. It shows the beginning of an invalid answer.
func unreadable(ctx context.Context, p *cli.Project, id int64, err error) error {
	err = fmt.Errorf("item %d: %w", id, err)
	if answer, ok := errors.AsType[*llm.AnswerError](err); ok {
		raw := ui.Brief(p.Redactor().String(answer.Raw), 300)
		return cli.Fail(cli.ExitFailed, fmt.Errorf("%w; the answer was: %s", err, raw),
			"the item stays new; a larger model may follow the format; to show the item: runplan inbox show %d", id)
	}
	return cli.ModelTrouble(ctx, err)
}

func classifier(ctx context.Context, p *cli.Project) (intent.Classifier, error) {
	none := intent.Classifier{}
	model, err := p.Model(ctx, llm.Review)
	if err != nil {
		return none, err
	}
	docs, err := p.Identity()
	if err != nil {
		return none, err
	}
	if err := p.TrustConfig(); err != nil {
		return none, err
	}
	return intent.Classifier{LLM: llm.New(p.ModelOptions(nil)), Model: model, Identity: trust.IdentityText(docs)}, nil
}

// pointToApprovals mentions open approvals of runs of this repository, which are not messages.
func pointToApprovals(ctx context.Context, a *cli.App) error {
	root, err := a.RootHere(ctx)
	if err != nil || root == "" { // the inbox is the user's, and can be read anywhere
		return nil
	}
	p, err := a.OpenProject(ctx)
	if err != nil {
		return nil
	}
	list, err := control.Waiting(ctx, p)
	if err != nil || len(list) == 0 {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s of this repository: runplan approve lists them\n",
		phrase.Count(len(list), "open approval"))
	return err
}

func newInboxEscalateCommand(a *cli.App) *cobra.Command {
	var severity string
	return a.Command(cli.With{Exits: "0 2 5"}, &cobra.Command{
		Use:   "escalate ID",
		Short: "Turn an item of the inbox into feedback",
		Long: `Copy an item of the inbox into the feedback of this repository, and mark it as done. A critical item
stays critical; a question becomes medium, a note low; --severity overrides this.`,
		Args: cli.ExactlyOne("the number of an item"),
		RunE: onItem(a, func(ctx context.Context, box *store.Inbox, id int64) error {
			p, err := a.OpenProject(ctx)
			if err != nil {
				return err
			}
			i, err := box.Item(ctx, id)
			if err != nil {
				return err
			}
			w := feedback.Words{
				ID: fmt.Sprintf("inbox-%d", id), Body: i.Body,
				Severity: feedback.Severity(cmp.Or(severity, string(feedback.SeverityOf(i.Kind)))),
				Source:   fmt.Sprintf("item %d of the inbox", id),
			}
			if err := enqueue(ctx, p, w); err != nil {
				return err
			}
			_, err = box.Finish(ctx, id, time.Now(), "feedback "+w.ID)
			return err
		}),
	}, func(f *cli.Flags) {
		f.StringVar(&severity, "severity", "", "severity (default: by the kind of the item)")
		cli.Values(f, "severity", feedback.Severities())
	})
}
