package retrieve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/runplan/runplan/internal/lazyre"
	"github.com/runplan/runplan/internal/phrase"
)

// Reasons for rejecting a refinement.
var (
	ErrNoEvidence = errors.New("the refinement names no missing part")
	ErrNoContext  = errors.New("there is no context to refine")
)

// Refinement describes what was missing in a package (RETR-15).
type Refinement struct {
	Reason          string   `json:"reason"`
	MissingFiles    []string `json:"missing_files"`
	MissingSymbols  []string `json:"missing_symbols"`
	MissingTests    []string `json:"missing_tests"`
	ErrorSignatures []string `json:"error_signatures"`
}

// evidence holds the concrete names in a refinement.
type evidence struct {
	paths   []string
	symbols []string
	errors  []string
	ignored []string
}

var (
	vagueRE     = lazyre.New(`(?i)^(?:(?:some |any |all |the |much |a )*(?:more|other|additional|further|full|whole|entire|relevant|related|missing|necessary|needed|required|rest of the|remaining)?\s*(?:context|information|info|details?|files?|code|codebase|symbols?|tests?|sources?|everything|anything|something|stuff|things?|errors?|repository|repo|project|documentation|docs))+$|^(?:unknown|none|n/?a|nil|null|tbd|\?+|-+|\.+|etc\.?|everything|all|any|various|multiple|several|unclear|not sure)$`)
	signatureRE = lazyre.New(`\b\w*(?:Error|Exception|Warning)\b|:\d+\b|\b(?:panic|undefined|cannot|unexpected|expected|failed|FAIL|not (?:found|defined)|no (?:such|attribute|field|member|module)|missing|invalid|unresolved|mismatch)\b`)
	pathLikeRE  = lazyre.New(`^[^\s*?]{1,300}$`)
)

// evidence extracts the concrete names of a refinement. A file is one word, a symbol or a test is a name, and an error
// states a message or a position.
func (r Refinement) evidence() evidence {
	var e evidence
	each := func(kind string, list []string, take func(text string) bool) {
		for _, text := range list {
			text = strings.Trim(strings.TrimSpace(text), "`\"'")
			if text != "" && (vagueRE.MatchString(text) || !take(text)) {
				e.ignored = append(e.ignored, fmt.Sprintf("%s %q", kind, phrase.Cut(text, 80)))
			}
		}
	}
	path := func(text string) bool {
		if !pathLikeRE.MatchString(text) {
			return false
		}
		e.paths = append(e.paths, text)
		return true
	}
	symbol := func(text string) bool {
		text = strings.NewReplacer("::", ".", "#", ".").Replace(strings.TrimSuffix(text, "()"))
		if !nameRE.MatchString(text) {
			return false
		}
		e.symbols = append(e.symbols, text)
		return true
	}
	each("file", r.MissingFiles, path)
	each("symbol", r.MissingSymbols, symbol)
	each("test", r.MissingTests, func(text string) bool {
		file, name, both := strings.Cut(text, "::")
		if both && endingRE.MatchString(file) {
			return path(file) && symbol(plainTest(name))
		}
		if strings.Contains(text, "/") || endingRE.MatchString(text) {
			return path(text)
		}
		return symbol(text)
	})
	each("error", r.ErrorSignatures, func(text string) bool {
		if !signatureRE.MatchString(text) {
			return false
		}
		e.errors = append(e.errors, text)
		return true
	})
	return e
}

// Check returns [ErrNoEvidence] unless the refinement names something concrete. A bare request for more is not enough.
func (r Refinement) Check() error {
	e := r.evidence()
	switch {
	case len(e.paths)+len(e.symbols)+len(e.errors) > 0:
		return nil
	case len(e.ignored) > 0:
		return fmt.Errorf("%w: %s contain no name to look up", ErrNoEvidence, strings.Join(e.ignored, ", "))
	}
	return fmt.Errorf("%w: give files, symbols, tests or error messages", ErrNoEvidence)
}
