package watch

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/runplan/runplan/gates/blueprint/lifecycle"
	"github.com/runplan/runplan/internal/cli"
	"github.com/runplan/runplan/internal/cli/control"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/seal"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/web"
	"github.com/runplan/runplan/runner/page"
)

type serveOptions struct {
	addr     string
	insecure bool
	open     bool
}

// NewServeCommand returns the command serve.
func NewServeCommand(a *cli.App) *cobra.Command {
	var o serveOptions
	return a.Command(cli.With{Exits: "0 1 2 5"}, &cobra.Command{
		Use:   "serve",
		Short: "Serve a page that shows runs and lets you answer those that wait",
		Long: `Serve a page for the browser on this machine: active runs, the plan as a picture, the output of each
agent, gates with their findings, candidates side by side, items that need you, and lessons of the runs. It reads the
journal and does not affect runs. Approve, stop, continue and discard on the page run the commands of these names. It
needs no internet.

The printed address contains a token that signs a browser in. The browser then uses a cookie, so that
the page finds its server again after a restart, if --addr names a port.

The page is served to this machine only. --insecure-listen allows addresses that other machines can reach: there is no
encryption, so anyone who can read the network in between can read the page, take its cookie and act as you. Prefer
a tunnel: ssh -L 8080:127.0.0.1:8080 HOST.

Ctrl-C ends it.`,
		Example: `  runplan serve --open
  runplan serve --addr 127.0.0.1:8080
  runplan PLAN.md --serve`,
		Args: cobra.NoArgs,
		RunE: a.StoppableInProject(func(ctx context.Context, p *cli.Project, _ []string) error {
			server, err := listen(ctx, p, o)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, server.URL())
			fmt.Fprintln(a.Stderr, "open this address in a browser; Ctrl-C ends the page")
			if o.open {
				defer openBrowser(ctx, a, server.URL())()
			}
			return server.Serve(ctx)
		}),
	}, func(f *cli.Flags) {
		f.StringVar(&o.addr, "addr", "127.0.0.1:0", "address to listen on, host:port; port 0 chooses a free one")
		f.BoolVar(&o.insecure, "insecure-listen", false, "allow an address that other machines can reach, without encryption")
		f.BoolVar(&o.open, "open", false, "open the page in the browser")
	})
}

func listen(ctx context.Context, p *cli.Project, o serveOptions) (*web.Server, error) {
	if err := p.NotAnAgent("the page"); err != nil {
		return nil, err
	}
	dir, err := p.UserDir()
	if err != nil {
		return nil, err
	}
	// The key is stored with the owner's files, because agents work in the repository.
	key, err := seal.Key(filepath.Join(dir, "serve.key"))
	if err != nil {
		return nil, err
	}
	pages := page.New(page.Options{
		Name: filepath.Base(p.Repo.Root), Layout: p.Layout, Repo: p.Repo, Alive: p.LookAlive, Now: time.Now, Zone: time.Local,
		Sign:    func(j *store.Journal) { _ = p.Signed(j) }, // a sandbox hides the key, and the page only lists
		Waiting: func(ctx context.Context) (page.Waiting, error) { return waitingFor(ctx, p), nil },
		Acts:    acts(p),
		Preview: func(ctx context.Context, act, run string) (page.Outcome, error) { return preview(ctx, p, act, run) },
		Trace: func(ctx context.Context, run string) (string, error) {
			html, err := commandOutput(ctx, p.App, []string{"trace", "--html", "--", "run:" + run})
			if html != "" {
				return html, nil // the error reports unproven parts, and so does the page
			}
			return "", err
		},
		Format: p.FormatOf,
	})
	server, err := web.Listen(ctx,
		web.Options{Addr: o.addr, Insecure: o.insecure, Name: p.Repo.Root, Key: key, Pages: pages})
	switch {
	case errors.Is(err, web.ErrReachable):
		return nil, cli.Usage(err,
			"there is no encryption: anyone who reads the network traffic can act as you. Use 127.0.0.1 and a tunnel (ssh "+
				"-L); or allow it explicitly: --insecure-listen")
	case err != nil:
		return nil, cli.Usage(err, "use another address with --addr, such as 127.0.0.1:0")
	}
	if o.insecure {
		fmt.Fprintln(p.Stderr,
			"runplan: --insecure-listen: other machines can reach the page without encryption: anyone who reads the "+
				"network traffic can act as you")
	}
	return server, nil
}

// ServeDuring serves the page during a run in this process. It returns a function that stops the server.
func ServeDuring(ctx context.Context, p *cli.Project, note func(string)) (stop func(), err error) {
	server, err := listen(ctx, p, serveOptions{addr: "127.0.0.1:0"})
	if err != nil {
		return nil, err
	}
	note("page: " + server.URL())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(ctx); err != nil {
			note("the page stopped: " + err.Error())
		}
	}()
	return func() { cancel(); <-ended }, nil
}

// waitingFor collects what waits for a person outside of runs. A read error is shown and does not hide other items.
func waitingFor(ctx context.Context, p *cli.Project) page.Waiting {
	var w page.Waiting
	trouble := func(err error) {
		if err != nil {
			w.Trouble = append(w.Trouble, err.Error())
		}
	}
	if k, err := p.Keeper(); err == nil {
		if c, err := k.Contract(ctx); err == nil {
			w.Owner = c.Owner
		} else {
			trouble(err)
		}
	}
	jobs, err := control.WaitingFeedback(ctx, p)
	trouble(err)
	for _, j := range jobs {
		w.Jobs = append(w.Jobs, page.Job{ID: j.ID, Change: j.Title, Why: j.Question, Plan: j.Plan, Text: planText(p, j.Plan),
			Since: j.Since})
	}
	w.Queue, err = lifecycle.Queue(p.Repo.Root, false)
	trouble(err)
	w.Inbox, err = control.InboxItems(ctx, p.App, false)
	trouble(err)
	return w
}

// planText returns the beginning of a plan for the person who decides about it, or "" if it cannot be read.
func planText(p *cli.Project, file string) string {
	f, err := os.Open(p.PlanFile(file))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 32<<10))
	if err != nil {
		return ""
	}
	return string(text)
}

// openBrowser opens the page in the browser. It passes the address in a file that only this user can read, because
// other users can see the arguments of a program. It returns a function that removes the file.
func openBrowser(ctx context.Context, a *cli.App, address string) (remove func()) {
	sorry := func(err error) func() {
		fmt.Fprintf(a.Stderr, "runplan: no browser could be opened (%v); open the address yourself\n", err)
		return func() {}
	}
	f, err := os.CreateTemp("", "runplan-*.html") // readable only by this user
	if err != nil {
		return sorry(err)
	}
	remove = func() { os.Remove(f.Name()) }
	_, err = fmt.Fprintf(f,
		`<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s"><title>runplan</title><a href="%[1]s">Go on</a>`, html.EscapeString(address))
	if err := errors.Join(err, f.Close()); err != nil {
		remove()
		return sorry(err)
	}
	args := map[string][]string{"darwin": {"open", f.Name()},
		"windows": {"rundll32", "url.dll,FileProtocolHandler", f.Name()}}[runtime.GOOS]
	if args == nil {
		// The browser must outlive this process. setsid would not report a missing program, so check first.
		args = []string{"sh", "-c", `command -v xdg-open >/dev/null || exit 127; exec setsid --fork xdg-open "$1"`, "sh",
			f.Name()}
	}
	res, err := proc.Run(ctx, proc.Cmd{Args: args, Env: a.Environ, Limits: proc.Limits{Total: 20 * time.Second}})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("the program that opens files ended with exit status %d", res.Exit)
	}
	if err != nil {
		remove()
		return sorry(err)
	}
	return remove
}
