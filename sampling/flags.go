package sampling

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Flags are the sampling flags of the command line (SAMP-18).
type Flags struct {
	Sample      int            // --sample N: all batches; 0 if not given
	SampleGiven bool           // --sample is on the command line, with any value
	SampleBatch map[string]int // --sample-batch B4=5, by the number of the batch
	NoSample    bool           // --no-sample
}

// ErrFlags reports wrong sampling flags: a usage error.
var ErrFlags = errors.New("sampling flags")

// Check returns an error if flags contradict each other or exceed the maximum.
func (f Flags) Check(most int) error {
	asked := f.SampleGiven || f.Sample != 0
	if f.NoSample && asked {
		return fmt.Errorf("%w: --no-sample and --sample exclude each other; give one of them", ErrFlags)
	}
	if f.NoSample && len(f.SampleBatch) > 0 {
		return fmt.Errorf("%w: --no-sample and --sample-batch exclude each other; give one of them", ErrFlags)
	}
	if asked {
		if err := checkCount("--sample "+strconv.Itoa(f.Sample), f.Sample, most); err != nil {
			return err
		}
	}
	for _, number := range slices.Sorted(maps.Keys(f.SampleBatch)) {
		n := f.SampleBatch[number]
		if err := checkCount(fmt.Sprintf("--sample-batch B%s=%d", number, n), n, most); err != nil {
			return err
		}
	}
	return nil
}

func checkCount(flag string, n, most int) error {
	switch {
	case n < 1:
		return fmt.Errorf("%w: %s: a batch has at least 1 candidate; --no-sample switches sampling off", ErrFlags, flag)
	case n > most:
		return fmt.Errorf("%w: %s: the maximum is %d; use fewer, or raise [sampling] sample_max_count", ErrFlags, flag, most)
	}
	return nil
}

// ParseSampleBatch reads the values of --sample-batch: "B4=5", or several with commas between. The batch is named as in
// the plan, with or without the B.
func ParseSampleBatch(values []string) (map[string]int, error) {
	out := map[string]int{}
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			one = strings.TrimSpace(one)
			batch, number, ok := strings.Cut(one, "=")
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if batch = batchNumber(batch); !ok || err != nil || batch == "" {
				return nil, fmt.Errorf("%w: --sample-batch %q: write the batch and the number of its candidates, as in B4=5",
					ErrFlags, one)
			}
			if old, twice := out[batch]; twice && old != n {
				return nil, fmt.Errorf("%w: --sample-batch gives batch %s both %d and %d candidates", ErrFlags, batch, old, n)
			}
			out[batch] = n
		}
	}
	return out, nil
}

// batchNumber removes the B from B4 and B0A. Other names do not change: a batch may be called P5.2, or Build.
func batchNumber(name string) string {
	name = strings.TrimSpace(name)
	if len(name) > 1 && (name[0] == 'B' || name[0] == 'b') && name[1] >= '0' && name[1] <= '9' {
		return name[1:]
	}
	return name
}

// CheckBatches returns an error if --sample-batch names a batch that the plan does not have.
func (f Flags) CheckBatches(numbers []string) error {
	for _, number := range slices.Sorted(maps.Keys(f.SampleBatch)) {
		if !slices.ContainsFunc(numbers, func(n string) bool { return batchNumber(n) == number }) {
			return fmt.Errorf("%w: --sample-batch B%s: the plan has no such batch; it has %s", ErrFlags, number,
				strings.Join(numbers, ", "))
		}
	}
	return nil
}
