package adapters

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runplan/runplan/internal/atomicfile"
	"github.com/runplan/runplan/training"
	"github.com/runplan/runplan/training/curriculum"
)

// Data describes a folder of training examples that was read to its end.
type Data struct {
	Name     string // name in the registry: relative to the repository if inside of it
	Dir      string // absolute
	SHA256   string // of train.jsonl
	Examples int    // of train.jsonl
	Held     int    // of validation.jsonl
	Source   training.Source
	Positive int
	Negative int
	Exported bool   // the lines are in a trainer's format
	HeldFile string // held-out examples; "" if there are none
}

// Files of a data folder.
const (
	TrainFile      = "train.jsonl"
	ValidationFile = "validation.jsonl"
	heldFile       = "held-back.jsonl" // validation side as examples, next to an export or a version
	exportFile     = "export.json"
)

// ErrNoData reports that there is no training data.
var ErrNoData = errors.New("there is no data to train on")

// TooFewError reports a corpus smaller than its curriculum requires.
type TooFewError struct{ Have, Want int }

func (e *TooFewError) Error() string {
	return fmt.Sprintf("there are %d examples, but the curriculum requires at least %d", e.Have, e.Want)
}

// ReadData reads a data folder. Each line must be an example of the adapter's stage, so that no adapter is trained for
// the wrong kind of model (TRAIN-05). In a folder exported for a trainer, each line must be a JSON object. name is the
// name in the registry.
func ReadData(dir, name string, spec curriculum.Spec) (Data, error) {
	d := Data{Name: name, Dir: dir, Source: training.Logged}
	f, err := os.Open(filepath.Join(dir, TrainFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("%s has no %s: %w", name, TrainFile, ErrNoData)
	}
	if err != nil {
		return d, fmt.Errorf("read the data: %w", err)
	}
	defer f.Close()
	if d.SHA256, err = atomicfile.Sum(f.Name()); err != nil {
		return d, fmt.Errorf("read the data: %w", err)
	}
	if d.Exported, err = exported(f); err != nil {
		return d, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return d, err
	}
	validation := ValidationFile
	if d.Exported {
		validation = heldFile
		if d.Examples, err = d.objects(f); err != nil {
			return d, err
		}
		d.Positive = d.Examples // hand-made examples are positive
		if err := d.manifest(spec); err != nil {
			return d, err
		}
	} else if err := d.read(f, TrainFile, spec, func(e training.Example) {
		if d.Examples++; e.Positive {
			d.Positive++
		} else {
			d.Negative++
		}
		if d.Examples == 1 {
			d.Source = e.Source
		}
	}); err != nil {
		return d, err
	}
	held, err := os.Open(filepath.Join(dir, validation))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return d, fmt.Errorf("read the data: %w", err)
	default:
		defer held.Close()
		d.HeldFile = held.Name()
		if err := d.read(held, validation, spec, func(training.Example) { d.Held++ }); err != nil {
			return d, err
		}
	}
	switch {
	case d.Examples == 0:
		return d, fmt.Errorf("%s: %s is empty: %w", name, TrainFile, ErrNoData)
	case d.Examples+d.Held < spec.MinimumCorpusSize:
		return d, &TooFewError{d.Examples + d.Held, spec.MinimumCorpusSize}
	}
	return d, nil
}

// manifest checks the manifest of an export. Hand-made data has none.
func (d *Data) manifest(spec curriculum.Spec) error {
	name := filepath.Join(d.Name, exportFile)
	text, err := os.ReadFile(filepath.Join(d.Dir, exportFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var m struct {
		Plan struct {
			Stage training.Stage `json:"stage"`
		} `json:"plan"`
		Train struct {
			Positive    int `json:"positive"`
			Negative    int `json:"negative"`
			Preferences int `json:"preferences"`
			Synthetic   int `json:"synthetic"`
		} `json:"train"`
		Files map[string]string `json:"files"`
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil:
		return fmt.Errorf("read the data: %s: %w", name, err)
	case m.Plan.Stage != spec.Stage:
		return fmt.Errorf("%s: the data is of stage %s, but %s is for stage %s; export data of its own stage", name,
			m.Plan.Stage, spec.Name, spec.Stage)
	case m.Files[TrainFile] != d.SHA256:
		return fmt.Errorf("%s: %s was changed after its export; export the dataset again", d.Name, TrainFile)
	}
	d.Positive, d.Negative = m.Train.Positive+m.Train.Preferences, m.Train.Negative
	if m.Train.Synthetic > 0 && m.Train.Synthetic == d.Examples {
		d.Source = training.Synthetic
	}
	return nil
}

// exported reports whether a file is in a trainer's format. It reads the first line: examples state their stage and
// origin.
func exported(f io.Reader) (bool, error) {
	line, err := bufio.NewReaderSize(f, 64<<10).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(line, &keys) != nil {
		return false, nil // the reader of examples reports the error
	}
	return keys["stage"] == nil && keys["origin"] == nil && len(keys) > 0, nil
}

// objects counts the objects of an exported train.jsonl.
func (d Data) objects(f io.Reader) (n int, err error) {
	for dec := json.NewDecoder(f); ; n++ {
		var object map[string]json.RawMessage
		if err := dec.Decode(&object); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, fmt.Errorf("%s: object %d: %w", filepath.Join(d.Name, TrainFile), n+1, err)
		}
	}
}

// read reads a file of examples.
func (d Data) read(f io.Reader, file string, spec curriculum.Spec, add func(training.Example)) error {
	name := filepath.Join(d.Name, file)
	for e, err := range training.Read(name, f) {
		if err != nil {
			return err
		}
		if e.Stage != spec.Stage || e.Base != spec.Base() {
			return fmt.Errorf("%s: example %s is of stage %s, but %s is for stage %s; export data of its own stage", name,
				e.ID, e.Stage, spec.Name, spec.Stage)
		}
		add(e)
	}
	return nil
}
