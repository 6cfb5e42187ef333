package proc

import "bytes"

// Records is a writer for programs that print one record after another, each ended by the same byte. It passes on
// complete records as they arrive and buffers only the incomplete one.
type Records struct {
	End  byte
	Take func(record []byte) error // record is valid until it returns; not called again after its first error

	rest []byte
	err  error
}

// Write takes a piece of the output. It never fails, so it does not stop the program: Close returns the error of Take.
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

// Close passes on an unterminated last record and returns the first error of Take.
func (r *Records) Close() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = r.Take(r.rest)
		r.rest = nil
	}
	return r.err
}
