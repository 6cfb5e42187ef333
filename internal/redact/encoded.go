package redact

// A shorter run cannot contain a secret in base64.
const minRun = 20

// wrapped is the minimum length of a base64 line that may continue on the next line; programs wrap it at 64 or 76.
const wrapped = 60

// sextets maps each byte of base64 to its value, in both alphabets; 0xff is invalid.
var sextets = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	t['-'], t['_'] = 62, 63
	return t
}()

// runs calls found with each run of text that may be base64, until it returns false. A run continues over a line end
// after a long line.
func runs(text string, found func(from, to int) bool) {
	for i := 0; i+minRun <= len(text); {
		other := i + minRun - 1 // the last of the next minRun bytes that base64 does not use: no run goes over it
		for other >= i && sextets[text[other]] != 0xff {
			other--
		}
		if other >= i {
			i = other + 1
			continue
		}
		from, line := i, i
		for i < len(text) {
			if sextets[text[i]] != 0xff {
				i++
				continue
			}
			if next := lineEnd(text, i); next > i && i-line >= wrapped && next < len(text) && sextets[text[next]] != 0xff {
				i, line = next, next
				continue
			}
			break
		}
		to := i
		for to < len(text) && to < i+2 && text[to] == '=' {
			to++
		}
		if varied(text[from:i]) && !found(from, to) {
			return
		}
	}
}

// lineEnd returns the position after the line end at i and the indentation of the next line; i if there is no line end.
func lineEnd(text string, i int) int {
	at := i
	if at < len(text) && text[at] == '\r' {
		at++
	}
	if at == len(text) || text[at] != '\n' {
		return i
	}
	at++
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

// varied reports whether a run has letters of both cases, as base64 of text has. A run of hexadecimal digits may be
// encoded too.
func varied(run string) bool {
	upper, lower, hexadecimal := false, false, true
	for i := range len(run) {
		c := run[i]
		upper = upper || 'A' <= c && c <= 'Z'
		lower = lower || 'a' <= c && c <= 'z'
		hexadecimal = hexadecimal && hexDigit(c)
	}
	return upper && lower || hexadecimal && len(run) >= 2*minRun
}

func hexDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// decodings calls found with the possible decodings of a run: hexadecimal, and base64 that begins up to three bytes
// later, as other text may precede it.
func decodings(run string, found func(string) bool) bool {
	buf := make([]byte, 0, len(run))
	for skip := range 4 {
		buf = buf[:0]
		bits, have := uint32(0), 0
		for i, n := 0, 0; i < len(run); i++ {
			v := sextets[run[i]]
			if v == 0xff {
				continue
			}
			if n++; n <= skip {
				continue
			}
			bits, have = bits<<6|uint32(v), have+6
			if have >= 8 {
				have -= 8
				buf = append(buf, byte(bits>>have))
			}
		}
		if found(string(buf)) {
			return true
		}
	}
	for skip := range 2 {
		buf = buf[:0]
		for i := skip; i+1 < len(run); i += 2 {
			v, ok := hexValue(run, i, 2)
			if !ok {
				return false
			}
			buf = append(buf, byte(v))
		}
		if found(string(buf)) {
			return true
		}
	}
	return false
}
