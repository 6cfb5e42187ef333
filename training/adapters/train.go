package adapters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/proc"
	"github.com/runplan/runplan/internal/redact"
	"github.com/runplan/runplan/internal/rooted"
	"github.com/runplan/runplan/training/curriculum"
)

// Job describes one training: adapter, base model and data.
type Job struct {
	Spec      curriculum.Spec
	BaseModel string // tag of the model that the settings name for the role
	Data      Data
}

// Trainer is the configured training program. It receives its parameters in environment variables:
//
//	RUNPLAN_TRAIN_ADAPTER  name of the adapter     RUNPLAN_TRAIN_STAGE    stage of the adapter
//	RUNPLAN_TRAIN_VERSION  number of the version   RUNPLAN_TRAIN_BASE     tag of the base model
//	RUNPLAN_TRAIN_DATA     folder with train.jsonl, and validation.jsonl if it exists
//	RUNPLAN_TRAIN_PARAMS   file with the hyperparameters, JSON
//	RUNPLAN_TRAIN_OUTPUT   file to write: the adapter, GGUF
//	RUNPLAN_TRAIN_METRICS  file that it may write: a JSON object with training_loss, and other measurements
//
// It starts in the folder of the output, with the environment that agents get. It exits with 0 after it has written
// the adapter.
type Trainer struct {
	Command []string
	Environ []string // environment of this program
	PassEnv []string // additional variables that the trainer may see
	Root    string   // repository root: for relative program paths and for {root}
	Timeout time.Duration
	Redact  func(string) string
	Reaper  *proc.Reaper
	Line    func(string) // receives each output line; may be nil
	Now     func() time.Time
}

// ErrNoTrainer reports that no trainer is configured.
var ErrNoTrainer = errors.New("no trainer is configured")

// FailedError reports a trainer that did not produce an adapter.
type FailedError struct {
	Program, Why string
	Log          string // file with its complete output
}

func (e *FailedError) Error() string {
	if e.Program == "" {
		return "the trainer " + e.Why
	}
	return "the trainer " + e.Program + " " + e.Why
}

// Train runs the trainer and keeps the result as the next version. A failure leaves only the trainer's log. The
// version is complete before its row is written. If the process is killed in between, the next [Registry.Register]
// writes the row.
func (s Registry) Train(ctx context.Context, job Job, t Trainer) (Version, error) {
	if len(t.Command) == 0 {
		return Version{}, ErrNoTrainer
	}
	if err := s.make(job.Spec.Name); err != nil {
		return Version{}, err
	}
	number, err := s.next(job)
	if err != nil {
		return Version{}, err
	}
	work, err := s.workshop(job.Spec.Name)
	if err != nil {
		return Version{}, err
	}
	defer work.close()
	v := Version{
		Adapter: job.Spec.Name, Number: number, Stage: job.Spec.Stage, Base: job.Spec.Base(), BaseModel: job.BaseModel,
		Tag: TagOf(job.BaseModel, job.Spec.Stage, number), Data: job.Data.Name, DataSHA256: job.Data.SHA256,
		Examples: job.Data.Examples,
		Source:   job.Data.Source, Positive: job.Data.Positive, Negative: job.Data.Negative, dir: work.dir,
	}
	if v.Hyper, err = json.MarshalIndent(job.Spec.Hyperparameters, "", "  "); err != nil {
		return v, err
	}
	if err := atomicfile.Write(filepath.Join(work.dir, hyperFile), append(v.Hyper, '\n'), 0o644); err != nil {
		return v, err
	}
	if err := v.holdBack(job.Data.HeldFile); err != nil {
		return v, err
	}
	began := t.Now()
	if err := t.run(ctx, job, v); err != nil {
		return v, work.failed(err, t.Now())
	}
	v.TrainedAt, v.DurationSec = t.Now().UTC(), t.Now().Sub(began).Seconds()
	if err := v.look(); err != nil {
		return v, work.failed(err, t.Now())
	}
	if err := atomicfile.WriteJSON(filepath.Join(work.dir, versionFile), v, 0o644); err != nil {
		return v, err
	}
	return v, work.keep(&v)
}

// next returns the next version number: above all versions of the adapter and all tags of its stage and base.
func (s Registry) next(job Job) (int, error) {
	all, err := s.All()
	if err != nil {
		return 0, err
	}
	n := job.Spec.Version
	for _, v := range all {
		if v.Adapter == job.Spec.Name || v.Stage == job.Spec.Stage && v.BaseModel == job.BaseModel {
			n = max(n, v.Number+1)
		}
	}
	return n, nil
}

// run starts the trainer and waits for it.
func (t Trainer) run(ctx context.Context, job Job, v Version) error {
	args := lists.Map(t.Command,
		func(a string) string { return string(bytes.ReplaceAll([]byte(a), []byte("{root}"), []byte(t.Root))) })
	if filepath.Base(args[0]) != args[0] && !filepath.IsAbs(args[0]) {
		args[0] = filepath.Join(t.Root, args[0])
	}
	env := append(redact.AgentEnv(t.Environ, t.PassEnv),
		"RUNPLAN_TRAIN_ADAPTER="+v.Adapter, fmt.Sprintf("RUNPLAN_TRAIN_VERSION=%d", v.Number), "RUNPLAN_TRAIN_STAGE="+
			string(v.Stage),
		"RUNPLAN_TRAIN_BASE="+v.BaseModel, "RUNPLAN_TRAIN_DATA="+job.Data.Dir, "RUNPLAN_TRAIN_PARAMS="+
			filepath.Join(v.dir, hyperFile),
		"RUNPLAN_TRAIN_OUTPUT="+v.File(), "RUNPLAN_TRAIN_METRICS="+filepath.Join(v.dir, metricsFile))
	res, err := proc.Run(ctx, proc.Cmd{
		Args: args, Dir: v.dir, Env: env, Limits: proc.Limits{Total: t.Timeout}, Line: t.Line, Redact: t.Redact,
		Log: filepath.Join(v.dir, trainerLog), Sweep: proc.NewTag(), Reaper: t.Reaper,
	})
	failed := func(format string, a ...any) error {
		return &FailedError{Program: args[0], Why: fmt.Sprintf(format, a...)}
	}
	switch {
	case err != nil:
		return fmt.Errorf("start the trainer %s: %w; training.trainer names it", args[0], err)
	case res.Ended == proc.Cancelled:
		return ctx.Err()
	case res.Ended == proc.Total:
		return failed("was stopped: it took longer than %s (training.timeout)", t.Timeout)
	case res.Signal != "":
		return failed("was ended by %s", res.Signal)
	case !res.OK():
		return failed("exited with status %d", res.Exit)
	case res.LogErr != nil:
		return fmt.Errorf("write the trainer's log: %w", res.LogErr)
	}
	return nil
}

// maxMetrics is the highest size of the trainer's metrics file, in bytes.
const maxMetrics = 1 << 20

// look reads the results of the trainer: the adapter and its metrics. A missing loss is unknown.
func (v *Version) look() error {
	info, err := Inspect(v.File())
	if errors.Is(err, fs.ErrNotExist) {
		return &FailedError{Why: "exited with status 0 and wrote no adapter to $RUNPLAN_TRAIN_OUTPUT"}
	}
	if err != nil {
		return err
	}
	v.Info = info
	if v.FileSHA256, err = atomicfile.Sum(v.File()); err != nil {
		return err
	}
	text, err := rooted.Read(v.dir, metricsFile, maxMetrics)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	all := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return &FailedError{Why: fmt.Sprintf("wrote a %s that cannot be read: %v", metricsFile, err)}
	}
	var flat bytes.Buffer
	if err := json.Compact(&flat, text); err != nil {
		return err
	}
	v.Metrics = flat.Bytes()
	for _, key := range []string{"training_loss", "train_loss", "loss"} {
		if x, ok := all[key].(float64); ok && !math.IsNaN(x) && !math.IsInf(x, 0) {
			v.Loss = &x
			break
		}
	}
	return nil
}
