//go:build !unix

package atomicfile

// noFollow is nothing here: [Append] looks at the file after it is open.
const noFollow = 0
