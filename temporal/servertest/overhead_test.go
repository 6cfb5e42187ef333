package servertest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

var (
	noops   = flag.Int("noops", 0, "batches without work to measure the overhead of both engines with; 0 measures nothing")
	figures = flag.String("figures", "", "file to write what was measured to, as JSON")
)

// overhead holds the cost of a batch that does nothing, in milliseconds.
type overhead struct {
	Batches    int     `json:"batches"`
	Local      float64 `json:"local"`
	Temporal   float64 `json:"temporal"`
	Floor      float64 `json:"floor"`      // as many activities that do nothing, one after the other, on the same server
	Activities int     `json:"activities"` // of the run
}

// TestOverhead measures what a batch that does nothing costs on this machine. Both engines use the same agents, gates
// and git; the difference is the cost of the engine.
func TestOverhead(t *testing.T) {
	if *noops == 0 {
		t.Skip("nothing is measured without -noops N; make bench-temporal does it")
	}
	o := overhead{Batches: *noops}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(*noops) }
	o.Local = each(idle(t).time(t))

	s := idle(t)
	s.serve()
	s.worker("w1")
	o.Temporal = each(s.time(t, "--engine", "temporal", "--address", s.address()))
	run, _ := s.events()[0]["run"].(string)
	steps := s.steps(t, run)
	for _, st := range steps {
		o.Activities += len(st.at)
	}
	db, err := os.Stat(filepath.Join(s.dir, "server.db"))
	if err != nil {
		t.Fatal(err)
	}
	o.Floor = each(s.floor(t, o.Activities))

	w := tabwriter.NewWriter(os.Stdout, 0, 2, 2, ' ', 0)
	fmt.Fprintf(w, "a batch of %d that do nothing\trunplan\tfloor\tratio\t\n", o.Batches)
	fmt.Fprintf(w, "local\t%.0f ms\t\t\t\n", o.Local)
	fmt.Fprintf(w, "temporal\t%.0f ms\t%.0f ms\t%.1f\tfloor: %.1f empty activities; the server's file has %.1f MB\n",
		o.Temporal, o.Floor, o.Temporal/o.Floor, float64(o.Activities)/float64(o.Batches), float64(db.Size())/1e6)
	fmt.Fprintf(w,
		"\nan activity, medians of the history\twaits\tat the worker\tuntil the next one is asked for\thow many\n")
	for _, st := range steps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", st.name, middle(st.waits), middle(st.at), middle(st.next), len(st.at))
	}
	w.Flush()
	for _, name := range []string{"runplan-temporal", "devserver"} {
		if fi, err := os.Stat(filepath.Join(filepath.Dir(runplan), name)); err == nil {
			fmt.Printf("%s: %.1f MB\n", name, float64(fi.Size())/1e6)
		}
	}
	if *figures != "" {
		data, err := json.Marshal(o)
		if err == nil {
			err = os.WriteFile(*figures, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// idle returns a stage with a plan of batches that do nothing.
func idle(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	var plan strings.Builder
	plan.WriteString("# Nothing\n\n")
	for i := 1; i <= *noops; i++ {
		fmt.Fprintf(&plan, "## Batch %d: nothing\n\n```sh\ntrue\n```\n\n", i)
	}
	s.write("plan.md", plan.String())
	s.commit()
	return s
}

// time runs the plan to its end and returns how long it took.
func (s *stage) time(t *testing.T, args ...string) time.Duration {
	t.Helper()
	began := time.Now()
	out, code := s.callFor(30*time.Minute, append([]string{"run", "plan.md", "--plain"}, args...)...)
	if code != 0 {
		for _, w := range s.workers {
			out += w.text()
		}
		t.Fatalf("exit status %d\n%s", code, out[max(0, len(out)-4000):])
	}
	return time.Since(began)
}

// step is a kind of activity: how long each activity waited for a worker, how long the worker took, and how long the
// workflow took to schedule the next one.
type step struct {
	name            string
	waits, at, next []time.Duration
}

// steps computes from the history of a run where it spent its time.
func (s *stage) steps(t *testing.T, run string) []*step {
	t.Helper()
	var all []*step
	byEvent := map[int64]*step{} // of the event that scheduled it
	asked := map[int64]time.Time{}
	began := map[int64]time.Time{}
	var last *step
	var ended time.Time
	it := s.client(t).GetWorkflowHistory(t.Context(), "runplan/"+run, "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		at := e.GetEventTime().AsTime()
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			a := e.GetActivityTaskScheduledEventAttributes()
			name, _, command := strings.Cut(a.GetActivityId(), "@")
			if name = path.Base(name); !command {
				name = a.GetActivityType().GetName()
			}
			i := slices.IndexFunc(all, func(st *step) bool { return st.name == name })
			if i < 0 {
				i, all = len(all), append(all, &step{name: name})
			}
			byEvent[e.GetEventId()], asked[e.GetEventId()] = all[i], at
			if last != nil {
				last.next = append(last.next, at.Sub(ended))
			}
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
			id := e.GetActivityTaskStartedEventAttributes().GetScheduledEventId()
			began[id] = at
			byEvent[id].waits = append(byEvent[id].waits, at.Sub(asked[id]))
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			id := e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()
			last, ended = byEvent[id], at
			last.at = append(last.at, at.Sub(began[id]))
		}
	}
	return all
}

func middle(all []time.Duration) string {
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f ms", float64(slices.Sorted(slices.Values(all))[len(all)/2].Microseconds())/1000)
}

// floor measures a workflow that starts the given number of activities that do nothing, one after the other.
func (s *stage) floor(t *testing.T, activities int) time.Duration {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.address(),
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, "floor", worker.Options{MaxConcurrentActivityExecutionSize: 1})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "nothing"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		for range activities {
			if err := workflow.ExecuteActivity(ctx, "nothing").Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	}, workflow.RegisterOptions{Name: "floor"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	began := time.Now()
	h, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "floor", TaskQueue: "floor"}, "floor")
	if err == nil {
		err = h.Get(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}
