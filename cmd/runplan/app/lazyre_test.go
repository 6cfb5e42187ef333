package app

import (
	"regexp"
	"testing"

	"github.com/runplan/runplan/internal/lazyre"
)

// What is compiled only when it is used has to be right all the same.
func TestRegularExpressionsCompile(t *testing.T) {
	all := lazyre.All()
	if len(all) < 100 {
		t.Fatalf("only %d regular expressions were found", len(all))
	}
	for _, re := range all {
		if _, err := regexp.Compile(re.String()); err != nil {
			t.Error(err)
		}
	}
}
