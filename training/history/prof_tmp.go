package history

import (
	"os"
	"runtime/pprof"
)

func profTmp() func() {
	p := os.Getenv("RP_PPROF")
	if p == "" {
		return func() {}
	}
	f, _ := os.Create(p)
	_ = pprof.StartCPUProfile(f)
	return func() { pprof.StopCPUProfile(); f.Close() }
}
