package feedback

import (
	"context"
	"errors"
	"testing"

	"github.com/runplan/runplan/gates"
)

// said is a differ that reports a status.
type said gates.Status

func (s said) Both(context.Context, string, string, string) (gates.Report, error) {
	if s == "" {
		return gates.Report{}, errors.New("no runner")
	}
	return gates.Report{Status: gates.Status(s)}, nil
}

func (s said) One(ctx context.Context, _, _ string) (gates.Report, error) {
	return s.Both(ctx, "", "", "")
}

// A check that was skipped or failed stops a fix, and only a test that passed makes the merged commit green. A check
// that could not run gives neither result (FIX-19, FIX-23).
func TestSkippedCheckDoesNotPass(t *testing.T) {
	for status, want := range map[gates.Status]struct{ goesOn, green bool }{
		gates.Pass: {true, true}, gates.Warn: {true, false}, gates.Fail: {}, gates.Skipped: {}, gates.Errored: {},
	} {
		_, err := CheckDifferential(t.Context(), said(status), "base", "tip", "a_test.go")
		if _, no := refused(err); no == want.goesOn {
			t.Errorf("%s: %v", status, err)
		}
		c, err := CheckMerged(t.Context(), said(status), "m", "a_test.go")
		if err != nil || c.Green != want.green {
			t.Errorf("%s: green %v, %v", status, c.Green, err)
		}
	}
	_, err := CheckDifferential(t.Context(), said(""), "base", "tip", "a_test.go")
	if _, no := refused(err); no || err == nil {
		t.Errorf("a failed check must not count as a refusal: %v", err)
	}
	if _, err := CheckMerged(t.Context(), said(""), "m", "a_test.go"); err == nil {
		t.Error("CheckMerged returns a result although the check could not run")
	}
}
