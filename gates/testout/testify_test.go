package testout

import "testing"

func TestWithoutTestify(t *testing.T) {
	table := "agents_test.go:485: \n        \tError Trace:\t/tmp/rooms/1/pkg/agents_test.go:485\n        \t            " +
		"\t/tmp/rooms/1/pkg/more.go:12\n" +
		"        \tError:      \tAn error is expected but got nil.\n        \tTest:       \tTestPermissionDenied\n        " +
		"\tMessages:   \ta folder without rights"
	want := "agents_test.go:485: \nAn error is expected but got nil.\na folder without rights"
	if got := withoutTestify(table); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := withoutTestify("Error: plain"); got != "Error: plain" {
		t.Errorf("a message of another kind became %q", got)
	}
}
