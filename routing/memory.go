package routing

import (
	"fmt"

	"github.com/shirou/gopsutil/v3/mem"
)

// AvailableMemory returns the memory that programs can still use, in bytes.
func AvailableMemory() (uint64, error) {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0, fmt.Errorf("read the machine's memory: %w", err)
	}
	return m.Available, nil
}
