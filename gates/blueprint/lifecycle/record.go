package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/runplan/runplan/gates/blueprint"
	"github.com/runplan/runplan/internal/checksum"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/patterns"
)

// Record is a stored review: the reviewer's answer, and the values derived from it.
type Record struct {
	ReviewResult

	GroundTruthFidelity  float64        `json:"ground_truth_fidelity"`
	DivergenceScoreFinal float64        `json:"divergence_score_final"`
	TotalCheckpoints     int            `json:"total_checkpoints"` // 0: not counted yet (BP-20)
	Decision             Recommendation `json:"decision"`
	DecisionReason       string         `json:"decision_reason"`
	// discrepancies whose claim is not in the blueprint
	UnknownClaims []int `json:"unknown_claims,omitempty"`

	State           blueprint.State `json:"state"`
	Scope           string          `json:"scope,omitempty"`
	BlueprintSHA256 string          `json:"blueprint_sha256"` // of the blueprint without its open questions
	SourcesSHA256   string          `json:"sources_sha256"`
	Unseen          []patterns.Skip `json:"unseen,omitempty"`
	Cold            Cold            `json:"cold"`
	ReceivedAt      time.Time       `json:"received_at"`
}

// Cold records how the reviewer was isolated from the author of the code (BP-07).
type Cold struct {
	ReviewID  string `json:"review_id"`            // new for each review
	Context   string `json:"context"`              // new process, new session, or answer file
	Provider  string `json:"provider,omitempty"`   // of the model
	Model     string `json:"model,omitempty"`      // model name according to its server
	SessionID string `json:"session_id,omitempty"` // session of an answer in a file, if known
	Apart     string `json:"apart"`                // evidence that it is not the author's session
}

// The contexts of a review.
const (
	NewProcess = "new process"
	NewSession = "new session"
	AnswerFile = "answer file"
)

// Curriculum is the folder with copies of reviews for training.
const Curriculum = "knowledge/curricula/code-architect"

// ReviewFolder returns the folder of a unit's reviews. Reviews of live units belong to the retroactive corpus (BP-22).
func ReviewFolder(unit string, s blueprint.State) string {
	if s == blueprint.Live {
		return path.Join(Curriculum, "retroactive", unit)
	}
	return path.Join(blueprint.Folder, "review", unit)
}

// stampLayout is the format of times in file names.
const stampLayout = "20060102T150405"

// stamp returns the time for the names of files, such as that of a review. A second file in the same second gets a
// number after the time. of is the name of the file with a stamp.
func stamp(root string, now time.Time, of func(stamp string) string) string {
	base := now.UTC().Format(stampLayout)
	stamp := base
	for n := 2; rooted.Exists(root, of(stamp)); n++ {
		stamp = fmt.Sprintf("%s_%d", base, n)
	}
	return stamp
}

// promptFile, summariesFile and answerFile return the paths of a review's files.
func promptFile(folder, stamp string) string {
	return path.Join(folder, "review_prompt_"+stamp+".txt")
}

func summariesFile(folder, stamp string) string {
	return path.Join(folder, "ast_summaries_"+stamp+".json")
}

func answerFile(folder, stamp string) string { return path.Join(folder, "cc_review_"+stamp+".json") }

// Store writes a review to two files (BP-23): next to its prompt, and for training. It returns both paths.
func Store(root, stamp string, r Record) (paths []string, err error) {
	paths = []string{answerFile(ReviewFolder(r.ServiceID, r.State), stamp),
		path.Join(Curriculum, "reviews", r.ServiceID+"_"+stamp+".json")}
	for _, p := range paths {
		if err := writeJSON(root, p, r); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func writeJSON(root, name string, v any) error { return Deps{}.writeJSON(root, name, v) }

// ErrNoReview reports that a unit has no review.
var ErrNoReview = errors.New("the unit has no review")

// Stored is a review with its file.
type Stored struct {
	Record
	Name   string // relative to the root
	SHA256 string // of the file
}

// Prompt reads what the reviewer was asked. Errors include [fs.ErrNotExist].
func (s Stored) Prompt(root string) ([]byte, error) {
	folder, name := path.Split(s.Name)
	stamp := strings.TrimSuffix(strings.TrimPrefix(name, "cc_review_"), ".json")
	return rooted.Read(root, promptFile(folder, stamp), 4*maxResult)
}

// Reviews reads the reviews in the folders that match a pattern, such as the [ReviewFolder] of the unit "*".
func Reviews(root, folders string) ([]Stored, error) {
	names, err := fs.Glob(os.DirFS(root), answerFile(folders, "*"))
	if err != nil {
		return nil, err
	}
	out := make([]Stored, len(names))
	for i, name := range names {
		text, err := rooted.Read(root, name, 4*maxResult)
		if err == nil {
			err = json.Unmarshal(text, &out[i].Record)
		}
		if err != nil {
			return nil, fmt.Errorf("read the review %s: %w", name, err)
		}
		out[i].Name, out[i].SHA256 = name, checksum.SHA256(text)
	}
	return out, nil
}

// Latest reads the last review of a whole unit, with its path.
func Latest(root, unit string, s blueprint.State) (r Record, name string, err error) {
	all, err := Reviews(root, ReviewFolder(unit, s))
	if err != nil {
		return r, "", err
	}
	for _, one := range all {
		if one.Scope == "" && !one.ReceivedAt.IsZero() && (name == "" || !one.ReceivedAt.Before(r.ReceivedAt)) {
			r, name = one.Record, one.Name
		}
	}
	if name == "" {
		return r, "", ErrNoReview
	}
	return r, name, nil
}

// unknownClaims returns the discrepancies whose claim is not in the blueprint, in any rendering.
func unknownClaims(b *blueprint.Blueprint, r ReviewResult) []int {
	plain := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '/' || c == '_' || c > 127)
		}), " ")
	}
	hay := plain(b.Tables()) + "\n" + plain(b.YAML())
	var out []int
	for i, d := range r.Discrepancies {
		if c := plain(d.BlueprintClaim); c == "" || !strings.Contains(hay, c) {
			out = append(out, i)
		}
	}
	return out
}
