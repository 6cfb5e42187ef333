package agents

import "testing"

func TestAnotherTryHelpsOnlyWhereTheWorkIsWhatFailed(t *testing.T) {
	for kind, want := range map[Kind]bool{
		"": true, KindCrash: true, KindCut: true, KindNoAnswer: true, KindRefused: true, KindTurns: true, KindBackground: true, KindIdle: true,
		KindAuth: false, KindQuota: false, KindDenied: false, KindMissingModel: false, KindSettings: false, KindLimit: false,
		KindOverloaded: false, KindNetwork: false, KindServer: false, KindCancelled: false,
	} {
		if kind.Another() != want {
			t.Errorf("%q: %v", kind, !want)
		}
	}
}
