//go:build !unix

package atomicfile

// noFollow is empty on this system: [Append] checks the file after opening it.
const noFollow = 0
