package cli

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// memory holds what decides when garbage is collected.
var memory struct {
	sync.Mutex
	ballast []byte
	chosen  bool // a command has chosen it
}

// SaveMemory makes a command keep its heap small from its first collection on, unless it calls [CollectAt]. A run
// mostly waits for agents and gates, so low memory use matters more than CPU time. A GOGC of the user stays in effect.
func (a *App) SaveMemory() {
	if own, _ := a.Getenv("GOGC"); own != "" {
		return
	}
	runtime.AddCleanup(new(*byte), func(struct{}) { saveMemory() }, struct{}{})
}

// saveMemory allocates a ballast. Without it, a small heap would be collected after each megabyte. It raises the heap
// target, so about seven megabytes of garbage gather between two collections. It uses no physical memory, because
// nothing touches it. Its allocation starts a collection, so it waits for the first one: a short command ends before
// that.
func saveMemory() {
	memory.Lock()
	defer memory.Unlock()
	if !memory.chosen {
		memory.ballast = make([]byte, 28<<20)
		debug.SetGCPercent(20)
	}
}

// CollectAt sets the percentage of [debug.SetGCPercent] for a command that uses the CPU all the time.
func CollectAt(percent int) {
	memory.Lock()
	defer memory.Unlock()
	memory.chosen, memory.ballast = true, nil
	debug.SetGCPercent(percent)
}
