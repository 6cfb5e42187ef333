//go:build !linux && !darwin

package proc

// bornAt is "" where the start time of a process is not known; a reaper then leaves it alone.
func bornAt(int) string { return "" }
