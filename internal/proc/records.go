package proc

import "bytes"

// Records is a writer for the output of a program that prints one record after another, each with the same byte at its
// end. It hands them on as they come, and holds no more than the one whose end has not come.
type Records struct {
	End  byte
	Take func(record []byte) error // record is good until it returns. After its first error it is asked no more

	rest []byte
	err  error
}

// Write takes a piece of the output. It never fails, so that the program is not stopped by it: what Take says is told by
// Close.
func (r *Records) Write(p []byte) (int, error) {
	for more := p; r.err == nil; {
		record, next, ok := bytes.Cut(more, []byte{r.End})
		if !ok {
			r.rest = append(r.rest, record...)
			break
		}
		more = next
		if len(r.rest) > 0 {
			record = append(r.rest, record...)
			r.rest = record[:0]
		}
		r.err = r.Take(record)
	}
	return len(p), nil
}

// Close hands on what came behind the last end, and returns the first error of Take.
func (r *Records) Close() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = r.Take(r.rest)
		r.rest = nil
	}
	return r.err
}
