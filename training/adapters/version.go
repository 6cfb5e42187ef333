// Package adapters trains and deploys adapters. A configured trainer makes a version. The server creates a model from
// the version and its base, and a test call checks that the model answers. Only after that a row assigns the model to
// its stage. A version is a folder under .runplan/training/adapters that is created atomically.
//
// Each step can be repeated after a crash. One row decides which adapter is active (TRAIN-28); all other steps only
// prepare it.
package adapters

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

// Version is one training of an adapter, as stored in its folder.
type Version struct {
	Adapter     string          `json:"adapter"`
	Number      int             `json:"version"`
	Stage       training.Stage  `json:"stage"`
	Base        training.Base   `json:"base"`
	BaseModel   string          `json:"base_model"` // tag of the base model
	Tag         string          `json:"model_tag"`  // tag of the model made from base and adapter
	Data        string          `json:"data"`       // folder of its training data
	DataSHA256  string          `json:"data_sha256"`
	Examples    int             `json:"examples"`
	Source      training.Source `json:"source"`
	Positive    int             `json:"positive"`
	Negative    int             `json:"negative"`
	Hyper       json.RawMessage `json:"hyperparameters"`
	Info        Info            `json:"file"`
	FileSHA256  string          `json:"file_sha256"`
	Loss        *float64        `json:"training_loss"` // null: not reported by the trainer
	Metrics     json.RawMessage `json:"metrics,omitempty"`
	TrainedAt   time.Time       `json:"trained_at"`
	DurationSec float64         `json:"duration_s"`

	dir string
}

// Files of a version folder.
const (
	adapterFile = "adapter.gguf"
	versionFile = "adapter.json"
	metricsFile = "metrics.json"
	hyperFile   = "hyperparameters.json"
	trainerLog  = "trainer.log"
)

// File returns the path of the adapter file.
func (v Version) File() string { return filepath.Join(v.dir, adapterFile) }

// ValidationFile returns the path of the last validation report.
func (v Version) ValidationFile() string { return filepath.Join(v.dir, "validation.json") }

// Name returns a name such as "code-architect@v2".
func (v Version) Name() string { return fmt.Sprintf("%s@v%d", v.Adapter, v.Number) }

// short returns the name of a stage in tags.
func short(s training.Stage) string {
	switch s {
	case training.TaskAnalysis:
		return "analysis"
	case training.ExecutePlan:
		return "plan"
	case training.ExecuteCode:
		return "code"
	}
	return string(s)
}

// TagOf returns the tag of the model made from a base and an adapter version for a stage: qwen3:4b-scope-v1
// (TRAIN-28).
func TagOf(base string, s training.Stage, n int) string {
	if last := base[strings.LastIndexByte(base, '/')+1:]; !strings.Contains(last, ":") {
		base += ":latest" // the default tag
	}
	return fmt.Sprintf("%s-%s-v%d", base, short(s), n)
}

// Ref names an adapter and optionally one of its versions.
type Ref struct {
	Adapter string
	Number  int // 0: the latest
}

// ParseRef parses NAME, NAME@2 or NAME@v2.
func ParseRef(text string) (Ref, error) {
	name, number, given := strings.Cut(text, "@")
	r := Ref{Adapter: name}
	if err := curriculum.ValidName(name); err != nil {
		return r, err
	}
	if !given {
		return r, nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(number, "v"))
	if err != nil || n < 1 {
		return r, fmt.Errorf("%.60q is not a version; write %s@2", number, name)
	}
	r.Number = n
	return r, nil
}

// ErrNoVersion reports that an adapter version does not exist.
var ErrNoVersion = errors.New("version not found")

// Registry is the folder with all versions of all adapters.
type Registry struct{ Dir string }

// RegistryOf returns the registry for the .runplan folder root.
func RegistryOf(root string) Registry { return Registry{filepath.Join(root, "training", "adapters")} }

// make creates the folder of an adapter and hides the registry from git.
func (s Registry) make(adapter string) error {
	dir := filepath.Join(s.Dir, adapter)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", adapter, err)
	}
	hide := filepath.Join(s.Dir, ".gitignore")
	if _, err := os.Lstat(hide); err == nil {
		return nil
	}
	return atomicfile.WriteLoose(hide, []byte("*\n"), 0o644)
}

// Adapters lists the adapters with a folder, sorted.
func (s Registry) Adapters() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list adapters: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && curriculum.ValidName(e.Name()) == nil {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// Versions returns the versions of an adapter in ascending order.
func (s Registry) Versions(adapter string) ([]Version, error) {
	entries, err := os.ReadDir(filepath.Join(s.Dir, adapter))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the versions of %s: %w", adapter, err)
	}
	var out []Version
	for _, e := range entries {
		n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "v"))
		if !e.IsDir() || err != nil || e.Name() != fmt.Sprintf("v%d", n) || n < 1 {
			continue
		}
		v, err := readVersion(filepath.Join(s.Dir, adapter, e.Name()))
		if err == nil && (v.Adapter != adapter || v.Number != n) {
			err = fmt.Errorf("it is about %s", v.Name())
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Join(s.Dir, adapter, e.Name(), versionFile), err)
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Version) int { return cmp.Compare(a.Number, b.Number) })
	return out, nil
}

func readVersion(dir string) (Version, error) {
	var v Version
	if err := atomicfile.ReadJSON(filepath.Join(dir, versionFile), &v); err != nil {
		return Version{}, err
	}
	v.dir = dir
	return v, nil
}

// All returns all versions of all adapters.
func (s Registry) All() ([]Version, error) {
	names, err := s.Adapters()
	if err != nil {
		return nil, err
	}
	var out []Version
	for _, n := range names {
		versions, err := s.Versions(n)
		if err != nil {
			return nil, err
		}
		out = append(out, versions...)
	}
	return out, nil
}

// Find returns one version.
func (s Registry) Find(r Ref) (Version, error) {
	all, err := s.Versions(r.Adapter)
	if err != nil {
		return Version{}, err
	}
	if r.Number == 0 && len(all) > 0 {
		return all[len(all)-1], nil
	}
	for _, v := range all {
		if v.Number == r.Number {
			return v, nil
		}
	}
	if len(all) == 0 {
		return Version{}, fmt.Errorf("%s was never trained here: %w", r.Adapter, ErrNoVersion)
	}
	return Version{}, fmt.Errorf("%s@v%d: %w; %d versions exist, the last is v%d", r.Adapter, r.Number, ErrNoVersion, len(all),
		all[len(all)-1].Number)
}

// byTag returns the version that belongs to a model tag.
func byTag(all []Version, tag string) (Version, bool) {
	return lists.Find(all, func(v Version) bool { return v.Tag == tag })
}
