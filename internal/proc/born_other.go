//go:build !linux && !darwin

package proc

// bornAt returns "", because the start time is unknown here; a reaper then leaves the process alone.
func bornAt(int) string { return "" }
