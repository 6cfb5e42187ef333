package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/runplan/runplan/agents"
	"github.com/runplan/runplan/gates"
)

// machine creates a machine from a short plan: "a b:a c:a,b* d!empty e@small#30" are five batches. b depends on a; c
// depends on a and b, and may start early on the candidate of b; d is skipped because it is empty; e has the tier
// small and an expected duration of 30 milliseconds. "g?" needs a person's approval. "f+3" starts with three
// competing candidates.
func machine(t testing.TB, info Info, plan string) *Machine {
	t.Helper()
	m, err := New(plans(info, plan))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func plans(info Info, plan string) Info {
	info.Base, info.LoopVersion = "base", cmp.Or(info.LoopVersion, LoopVersion)
	for i, f := range strings.Fields(plan) {
		f, skip, _ := strings.Cut(f, "!")
		f, needs, _ := strings.Cut(f, ":")
		f, expect, _ := strings.Cut(f, "#")
		f, sample, _ := strings.Cut(f, "+")
		key, tier, _ := strings.Cut(f, "@")
		approve := strings.HasSuffix(key, "?")
		key = strings.TrimSuffix(key, "?")
		b := BatchInfo{Approve: approve, Key: key, Number: strconv.Itoa(i + 1), Title: "Batch " + key, Skip: skip, Tier: tier}
		b.Sample, _ = strconv.Atoi(sample)
		b.ExpectMS, _ = strconv.ParseInt(expect, 10, 64)
		for n := range strings.FieldsSeq(strings.ReplaceAll(needs, ",", " ")) {
			n, early := strings.CutSuffix(n, "*")
			b.Needs = append(b.Needs, n)
			if early {
				b.Early = append(b.Early, n)
			}
		}
		info.Batches = append(info.Batches, b)
	}
	return info
}

// scenario is a script for one machine.
type scenario struct {
	plan   string
	info   Info // one worker and three attempts unless it says otherwise
	script string
}

// tell plays each scenario.
func tell(t *testing.T, stories map[string]scenario) {
	t.Helper()
	for name, tt := range stories {
		t.Run(name, func(t *testing.T) {
			tt.info.Workers = cmp.Or(tt.info.Workers, 1)
			tt.info.MaxAttempts = cmp.Or(tt.info.MaxAttempts, 3)
			play(t, machine(t, tt.info, tt.plan), tt.script)
		})
	}
}

// script drives a machine. Each line is a fact and, after an arrow, all commands that follow from it, with the fields that
// matter:
//
//	start                                  -> a/r1-c0/execute base=base
//	a/r1-c0/execute ok commit=c tree=t     -> a/r1-c0/gate commit=c tree=t
//	b/r1-c0/sample ok slots=x,y atonce=2   -> b/r1-c1/execute b/r1-c2/execute
//	b/r1-c2/judge ok candidate=1           -> b/r1-c2/commit
//	at 90
//	stop limited
//	resume                                 -> a/r1-c0/gate
//	reopen a base=x                        -> a/r2-c0/execute
//	pending                                -> a/r2-c0/execute
//	status a=working
//	queue a=green b=red c
//	lost b/r1 on=a its agent is stopped
//	parked a=limited
//	end stopped limited
//	because five hours
//	waiting a/r1-c0/ask
//	approve a/r1-c0/ask                    -> a/r1-c0/commit
//	deny a/r1-c0/ask reason=no             -> a/r2-c0/execute
//
// A fact that starts with the ID of a command is the report on it. The number of the line is the sequence number of its
// event, and at= gives the seconds since the start. The queue is in its order, with the known data of each candidate. A
// resume may change workers=, onlimit=, limit= (of the cost), unknown= and agents=.
type script struct {
	*testing.T
	m    *Machine
	line int
	now  int
}

func play(t *testing.T, m *Machine, text string) {
	t.Helper()
	s := &script{T: t, m: m}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		s.line++
		fact, answer, _ := strings.Cut(strings.TrimSpace(line), "->")
		if f := strings.Fields(fact); len(f) > 0 {
			s.step(f, strings.Fields(answer))
		}
	}
}

func (s *script) step(fact, answer []string) {
	s.Helper()
	switch fact[0] {
	case "start":
		s.expect(s.m.Start(), answer)
	case "pending":
		s.expect(s.m.Pending(), answer)
	case "status":
		var got []string
		for _, v := range s.m.Batches() {
			got = append(got, v.Key+"="+string(v.Status))
		}
		s.diff(fact[1:], got)
	case "queue":
		got := []string{}
		for _, q := range s.m.queue {
			text := q.Key
			if q.verdict != open {
				text += "=" + string(q.verdict)
			}
			got = append(got, text)
		}
		s.diff(fact[1:], got)
	case "lost":
		got := []string{}
		for _, l := range s.m.Lost() {
			got = append(got, fmt.Sprintf("%s/r%d on=%s %s", l.Batch, l.Attempt, strings.Join(l.On, ","), l.Reason))
		}
		s.diff(strings.Join(fact[1:], " "), strings.Join(got, "; "))
	case "parked":
		got := []string{}
		for _, t := range s.m.tracks {
			if t.parked != nil {
				got = append(got, t.Key+"="+string(t.parked.Outcome))
			}
		}
		s.diff(fact[1:], got)
	case "waiting":
		got := []string{}
		for _, a := range s.m.Waiting() {
			got = append(got, a.Command)
		}
		s.diff(fact[1:], got)
	case "state":
		v, _ := s.m.Batch(fact[1])
		s.diff(fact[2], string(v.State))
	case "at":
		s.now, _ = strconv.Atoi(fact[1])
	case "paused":
		p, ok := s.m.Paused()
		s.diff(strings.Join(fact[1:], " "),
			strings.TrimSpace(fmt.Sprintf("%d %s", int(p.Until.Sub(at(0)).Seconds()), p.Reason)))
		s.diff(true, ok)
	case "reason":
		v, _ := s.m.Batch(fact[1])
		s.diff(strings.Join(fact[2:], " "), v.Reason)
	case "tip":
		s.diff(fact[1], s.m.Tip())
	case "end":
		res, done := s.m.Done()
		got := string(res.Status)
		if res.Stop != nil {
			got += " " + string(res.Stop.Outcome)
		}
		if res.Reason != "" {
			got += " " + res.Reason
		}
		s.diff(strings.Join(fact[1:], " "), got)
		s.diff(res.Status != RunActive, done)
	case "because":
		got := ""
		if res, _ := s.m.Done(); res.Stop != nil {
			got = res.Stop.Reason
		}
		s.diff(strings.Join(fact[1:], " "), got)
	default:
		s.expect(s.m.Apply(s.event(fact)), answer)
	}
}

// event creates the event that a line describes.
func (s *script) event(fact []string) Event {
	e := Event{Seq: s.line, Run: "run", At: at(s.now)}
	rest := fact[1:]
	switch fact[0] {
	case "stop":
		e.Kind, e.Outcome, rest = StopAsked, Outcome(fact[1]), fact[2:]
	case "resume":
		e.Kind = RunResumed
	case "approve", "deny":
		e.Kind, e.Command, rest = ApprovalGiven, fact[1], fact[2:]
		if fact[0] == "deny" {
			e.Kind = ApprovalDenied
		}
		for _, a := range s.m.Waiting() {
			if a.Command == e.Command {
				e.Batch, e.Commit, e.Tree = a.Batch, a.Commit, a.Tree
			}
		}
	case "reopen":
		e.Kind, e.Batch, rest = Reopened, fact[1], fact[2:]
	default:
		e.Command, e.Outcome, rest = fact[0], Outcome(fact[1]), fact[2:]
		parts := strings.Split(fact[0], "/")
		e.Batch, e.Kind = parts[0], reportOf(CommandKind(parts[len(parts)-1]))
		c := s.m.out[e.Command]
		e.Commit, e.Tree = c.Commit, c.Tree
	}
	for _, f := range rest {
		name, value, _ := strings.Cut(f, "=")
		n, _ := strconv.Atoi(value)
		usd, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "kind":
			e.Kind = EventKind(value)
		case "base":
			e.Base = value
		case "commit":
			e.Commit = value
		case "tree":
			e.Tree = value
		case "findings":
			e.Fingerprint = value
		case "reason":
			e.Reason = value
		case "asks":
			e.Reports = []gates.Report{{Gate: "tests", Status: gates.Warn, Proof: &gates.Proof{Asks: value}}}
		case "tests":
			e.Tests = &gates.TestCount{Passed: n}
		case "slots":
			for i, v := range strings.Split(value, ",") {
				e.Slots = append(e.Slots, Slot{Number: i + 1, Variant: v})
			}
		case "atonce":
			e.AtOnce = n
		case "verdict":
			e.Review = &ReviewInfo{Verdict: value, Confidence: new(int)}
		case "sure":
			*e.Review.Confidence = n
		case "candidate":
			e.Candidate = n
		case "cost":
			e.Usage = &agents.Usage{CostUSD: &usd}
		case "hopeless":
			e.Hopeless = true
		case "outage":
			e.Outage = true
		case "retry":
			e.RetryAt = at(n)
		case "workers":
			s.job(&e).Workers = n
		case "onlimit":
			s.job(&e).OnLimit = value
		case "agents":
			s.job(&e).Agents = agentsOf(value)
		case "limit":
			s.job(&e).MaxCostUSD = usd
		case "unknown":
			s.job(&e).UnknownCost = value
		default:
			s.Fatalf("line %d: what is %q?", s.line, f)
		}
	}
	return e
}

// job returns the job of a resumed run: the earlier job with the changes from the line.
func (s *script) job(e *Event) *Info {
	if e.Job == nil {
		job := s.m.info
		e.Job = &job
	}
	return e.Job
}

// expect compares commands with the expectations of a line.
func (s *script) expect(cmds []Command, answer []string) {
	s.Helper()
	var want, got []string
	for _, f := range answer {
		if !strings.Contains(f, "=") {
			want = append(want, f)
			continue
		}
		want[len(want)-1] += " " + f
	}
	for i, c := range cmds {
		text := c.ID
		if i < len(want) {
			for _, f := range strings.Fields(want[i])[1:] {
				name, _, _ := strings.Cut(f, "=")
				text += " " + name + "=" + field(c, name)
			}
		}
		got = append(got, text)
	}
	s.diff(want, got)
}

// agentsOf creates agents with the given names, each with its own model for the tier small.
func agentsOf(names string) []AgentInfo {
	var out []AgentInfo
	for name := range strings.SplitSeq(names, ",") {
		out = append(out, AgentInfo{Name: name, Models: map[string]string{"small": name + "-mini"}})
	}
	return out
}

func field(c Command, name string) string {
	switch name {
	case "base":
		return c.Base
	case "from":
		return c.From
	case "commit":
		return c.Commit
	case "tree":
		return c.Tree
	case "on":
		return strings.Join(c.On, ",")
	case "variant":
		if c.Slot == nil {
			return "none"
		}
		return c.Slot.Variant
	case "tier":
		return c.Tier
	case "agent":
		return c.Agent
	case "why":
		return strings.ReplaceAll(c.Why, " ", "_")
	case "instead":
		return strings.ReplaceAll(c.Instead, " ", "_")
	case "model":
		return c.Model
	case "until":
		return strconv.Itoa(int(c.Until.Sub(at(0)).Seconds()))
	case "after":
		return strconv.Itoa(c.After)
	case "left":
		return strconv.FormatFloat(c.Left, 'f', -1, 64)
	case "before":
		if c.Before == nil {
			return "unknown"
		}
		return strconv.Itoa(c.Before.Passed)
	}
	return fmt.Sprintf("(no field %s)", name)
}

func (s *script) diff(want, got any) {
	s.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		s.Errorf("line %d (-want +got):\n%s", s.line, diff)
	}
}

// passes reports success to the machine for a command and for all commands of its batch that follow.
func passes(m *Machine, id string) {
	for c := m.out[id]; c.ID != ""; {
		e := Event{Kind: reportOf(c.Kind), Command: c.ID, Batch: c.Batch, Outcome: OutcomeOK, Commit: c.ID, Tree: c.Tree}
		if c.Kind == Merge {
			e.Commit = c.Commit
		}
		next := m.Apply(e)
		i := slices.IndexFunc(next, func(n Command) bool { return n.Batch == c.Batch })
		if i < 0 {
			return
		}
		c = next[i]
	}
}
