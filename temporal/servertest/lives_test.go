package servertest

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// finished runs the plan to its end and returns the ID of the run.
func (s *stage) finished(t *testing.T, args ...string) (run string) {
	t.Helper()
	p := s.run(args...)
	if code := p.code(t, 90*time.Second); code != 0 {
		t.Fatalf("exit status %d:\n%s\n%s", code, p.text(), s.workers["w1"].text())
	}
	run, _ = s.events()[0]["run"].(string)
	return run
}

// ready returns a stage with a plan of n quick batches, a server and a worker.
func ready(t *testing.T, n int, worker ...string) *stage {
	t.Helper()
	s := newStage(t)
	s.slowAgent("0.01")
	s.write("plan.md", stormPlan(n))
	s.commit()
	s.serve()
	s.worker("w1", worker...)
	return s
}

// A workflow with a long history continues as a new one, and the run is not affected.
func TestLongHistoryContinuesAsNew(t *testing.T) {
	s := ready(t, 3)
	run := s.finished(t, "--history-events", "60")
	if err := s.landed(3); err != nil {
		t.Error(err)
	}
	if n := len(s.ledger()); n != 3 {
		t.Errorf("%d agents were started for 3 batches", n)
	}
	got, err := s.client(t).DescribeWorkflowExecution(t.Context(), "runplan/"+run, "")
	if err != nil {
		t.Fatal(err)
	}
	if i := got.GetWorkflowExecutionInfo(); i.GetFirstRunId() == i.GetExecution().GetRunId() {
		t.Error("the workflow did not continue as new")
	}
	for i, e := range s.events() {
		if seq, _ := e["seq"].(float64); int(seq) != i+1 {
			t.Fatalf("event %d of the journal has number %v", i+1, e["seq"])
		}
	}
}

// A landing goes through the merge queue of its branch, and moves the branch in the shared repository.
func TestLandingMovesSharedBranch(t *testing.T) {
	s := ready(t, 2)
	run := s.finished(t, "--land", "ff")
	main, tip := s.git(s.remote(), "rev-parse", "main"), s.git(s.remote(), "rev-parse", "runplan/plan/main")
	if main != tip {
		t.Errorf("main is at %s, the run branch at %s", main, tip)
	}
	_, open := s.history(t, "runplan/"+run)
	queue := regexp.MustCompile(`runplan/merge-queue/[0-9a-f]+/main`).FindString(open)
	if queue == "" {
		t.Fatal("it asked no merge queue")
	}
	s.record(t, "runplan/"+run, "landed")
	s.record(t, queue, "merge-queue")
}

// The workers of a deployment receive runs once their build is the current one.
func TestWorkerDeploymentReceivesRuns(t *testing.T) {
	s := ready(t, 1, "--deployment", "team", "--build-id", "b1", "--make-current")
	run := s.finished(t)
	got, err := s.client(t).DescribeWorkflowExecution(t.Context(), "runplan/"+run, "")
	if err != nil {
		t.Fatal(err)
	}
	if v := got.GetWorkflowExecutionInfo().GetVersioningInfo(); v.GetBehavior().String() != "Pinned" ||
		v.GetDeploymentVersion().GetBuildId() != "b1" {
		t.Errorf("%v", v)
	}
}

// With a codec, what the service stores cannot be read.
func TestCodecEncryptsStoredData(t *testing.T) {
	s := newStage(t)
	s.slowAgent("0.01")
	s.write("plan.md", stormPlan(1))
	s.commit()
	s.serve()
	s.env = append(s.env, "CODEC_KEY=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")
	s.worker("w1", "--codec-key-env", "CODEC_KEY")
	run := s.finished(t, "--codec-key-env", "CODEC_KEY")
	if _, open := s.history(t, "runplan/"+run); len(open) < 1000 || strings.Contains(open, "file 1") ||
		strings.Contains(open, "out1.txt") {
		t.Error("the title of a batch or the name of a file can be read")
	}
}
