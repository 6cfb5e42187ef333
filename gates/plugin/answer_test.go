package plugin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/runplan/runplan/gates"
	"github.com/runplan/runplan/gates/plugin/gatev1"
)

// The answer of a plugin is data. A mistake in it is either visibly repaired or an error.
func TestAnswer(t *testing.T) {
	found := func(f *gatev1.Finding) *gatev1.Report {
		return &gatev1.Report{Status: gatev1.Status_STATUS_WARN, Findings: []*gatev1.Finding{f}}
	}
	at := func(path string) *gatev1.Report {
		return found(&gatev1.Finding{Rule: "r", Path: path, Line: 3, Message: "m",
			Severity: gatev1.Severity_SEVERITY_WARNING})
	}
	kept := func(path string) gates.Report {
		return gates.Report{Status: gates.Warn,
			Findings: []gates.Finding{{Rule: "r", Path: path, Line: 3, Message: "m", Severity: gates.Warning}}}
	}
	stray := gates.Report{Status: gates.Warn, Note: "1 of its paths are outside the tree and not shown",
		Findings: []gates.Finding{{Rule: "r", Message: "m", Severity: gates.Warning}}}
	for name, c := range map[string]struct {
		in   *gatev1.Report
		want gates.Report
		err  string
	}{
		"no report":                    {in: nil, err: "contains no report"},
		"no status":                    {in: &gatev1.Report{}, err: "status 0, which is unknown"},
		"a status that does not exist": {in: &gatev1.Report{Status: 17}, err: "status 17, which is unknown"},
		"negative counts": {in: &gatev1.Report{Status: 1, Tests: &gatev1.TestCount{Passed: -1}},
			err: "-1 tests passed"},
		"counts": {in: &gatev1.Report{Status: 1, Tests: &gatev1.TestCount{Passed: 2}},
			want: gates.Report{Status: gates.Pass, Tests: &gates.TestCount{Passed: 2}}},
		"a path of the tree":           {in: at("a/b.go"), want: kept("a/b.go")},
		"a path with ./":               {in: at("./a/b.go"), want: kept("a/b.go")},
		"an absolute path of the tree": {in: at("/tree/a/b.go"), want: kept("a/b.go")},
		"an absolute path elsewhere":   {in: at("/etc/passwd"), want: stray},
		"a path that begins like it":   {in: at("/tree-two/a"), want: stray},
		"a path upwards":               {in: at("../a"), want: stray},
		"a path that hides its way":    {in: at("a/../../b"), want: stray},
		"a path with a backslash":      {in: at(`a\b`), want: stray},
		"a path with control codes":    {in: at("a\x1b[31m"), want: stray},
		"a path of two lines":          {in: at("a\nb"), want: stray},
		"a severity that does not exist": {
			in: found(&gatev1.Finding{Rule: "r", Message: "m", Severity: 9}),
			want: gates.Report{Status: gates.Fail, Note: "1 of its findings have an unknown severity and count as errors",
				Findings: []gates.Finding{{Rule: "r", Message: "m", Severity: gates.Error}}},
		},
		"an empty finding with an invalid place": {
			in: found(&gatev1.Finding{Severity: 3, Line: 4, Col: -2}),
			want: gates.Report{Status: gates.Warn,
				Findings: []gates.Finding{{Rule: "unnamed", Message: "no message", Severity: gates.Note}}},
		},
		"an error that was called a pass": {
			in: &gatev1.Report{Status: gatev1.Status_STATUS_PASS,
				Findings: []*gatev1.Finding{{Rule: "r", Message: "m", Severity: 1}}},
			want: gates.Report{Status: gates.Fail, Findings: []gates.Finding{{Rule: "r", Message: "m", Severity: gates.Error}}},
		},
		"a failure without a reason": {
			in: &gatev1.Report{Status: gatev1.Status_STATUS_FAIL, Note: "it is ugly"},
			want: gates.Report{Status: gates.Fail, Note: "it is ugly",
				Findings: []gates.Finding{{Rule: gates.RuleNoReason, Message: "it is ugly", Severity: gates.Error}}},
		},
		"a skip without a reason": {in: &gatev1.Report{Status: gatev1.Status_STATUS_SKIPPED},
			want: gates.Report{Status: gates.Skipped, Note: "no reason given"}},
		"control codes and secrets": {
			in: &gatev1.Report{Status: 1, Note: "\x1b]0;title\x07a", Output: "b\x1b[2J hunter2",
				Findings: []*gatev1.Finding{{Rule: "r\n\x1b[1mr", Message: "\u202ec", Fix: "d\x00", Severity: 3}}},
			want: gates.Report{Status: gates.Pass, Note: "a", Output: "b [redacted]",
				Findings: []gates.Finding{{Rule: "r", Message: "c", Fix: "d", Severity: gates.Note}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader{dir: "/tree", hide: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }}
			got, err := r.report(c.in)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error is %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnswerIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	in := &gatev1.Report{Status: gatev1.Status_STATUS_PASS, Note: long, Output: long}
	for range 1000 {
		in.Findings = append(in.Findings,
			&gatev1.Finding{Rule: long[:1000], Path: "a", Message: long[:5000], Fix: long[:5000], Severity: 3})
	}
	in.Findings = append(in.Findings, &gatev1.Finding{Rule: "last", Message: "m", Severity: 1})
	r := reader{dir: "/tree"}
	rep, err := r.report(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Findings) != maxFindings || rep.Findings[0].Rule != "last" || rep.Status != gates.Fail {
		t.Errorf("%d findings, status %s, first %q", len(rep.Findings), rep.Status, rep.Findings[0].Rule)
	}
	if !strings.HasSuffix(rep.Note, "801 more findings are omitted") {
		t.Errorf("the note ends in %q", rep.Note[len(rep.Note)-50:])
	}
	for what, c := range map[string]struct {
		text string
		max  int
	}{"note": {rep.Note, maxMessage}, "output": {rep.Output, maxOutput}, "rule": {rep.Findings[1].Rule, maxRule},
		"message": {rep.Findings[1].Message, maxMessage}, "fix": {rep.Findings[1].Fix, maxMessage}} {
		if len(c.text) > c.max || !utf8.ValidString(c.text) {
			t.Errorf("%s has %d bytes, or is broken", what, len(c.text))
		}
	}
}

func TestInfoAnswer(t *testing.T) {
	info, err := infoFrom(&gatev1.InfoResponse{Name: "a\x1b[1m\nb"})
	if want := (gates.Info{Name: "a", Kind: gates.Static, Cost: gates.Cheap}); err != nil || !cmp.Equal(info, want) {
		t.Errorf("got %+v, %v", info, err)
	}
	for _, in := range []*gatev1.InfoResponse{{Kind: 9}, {Cost: 9}} {
		if _, err := infoFrom(in); err == nil || !strings.Contains(err.Error(), " 9 is unknown") {
			t.Errorf("%v: %v", in, err)
		}
	}
}

// newer is a plugin of a later version: its answers have a field that this version does not know.
type newer struct {
	grpc.ClientConnInterface
	unknown int // requests with unknown fields
}

func (n *newer) Invoke(_ context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	switch in := in.(type) {
	case *gatev1.InfoRequest:
		out := out.(*gatev1.InfoResponse)
		out.Name = "finder"
		n.pass(in, out)
	case *gatev1.CheckRequest:
		report := &gatev1.Report{Status: gatev1.Status_STATUS_PASS, Note: in.Base}
		n.pass(in, report)
		out.(*gatev1.CheckResponse).Report = report
	default:
		return fmt.Errorf("an unknown call: %s", method)
	}
	return nil
}

// pass copies the unknown fields of a request into the answer.
func (n *newer) pass(in, out proto.Message) {
	unknown := in.ProtoReflect().GetUnknown()
	if len(unknown) > 0 {
		n.unknown++
	}
	out.ProtoReflect().SetUnknown(unknown)
}

// Each request has another unknown field, and runplan reads answers with unknown fields.
func TestGrease(t *testing.T) {
	c := client{}
	seen := map[string]bool{}
	for range 100 {
		req := &gatev1.CheckRequest{}
		c.grease(req)
		seen[string(req.ProtoReflect().GetUnknown())] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d different fields in 100 requests", len(seen))
	}
	plugin := &newer{}
	c.conn, c.settings = plugin, "{}"
	if info, _, err := c.info(t.Context()); err != nil || info.Name != "finder" {
		t.Errorf("%+v %v", info, err)
	}
	rep, err := c.check(t.Context(), gates.Subject{Dir: "/tree", Base: "b45e"}, time.Second)
	if err != nil || rep.Note != "b45e" || plugin.unknown != 2 {
		t.Errorf("%+v %v, %d requests with an unknown field", rep, err, plugin.unknown)
	}
}

func FuzzGreeting(f *testing.F) {
	f.Add("1|1|unix|/tmp/s|grpc|")
	f.Add("1|1|tcp|127.0.0.1:80|grpc")
	f.Add("1|2|unix")
	f.Fuzz(func(t *testing.T, line string) {
		if err := checkGreeting(line, (&capture{}).show); err != nil &&
			(len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\x1b\n")) {
			t.Errorf("the message is too long or has control characters: %q", err)
		}
	})
}
