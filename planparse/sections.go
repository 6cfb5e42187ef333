package planparse

// Section is a heading of a document, with the lines below it up to the next heading. It need not describe work.
type Section struct {
	Level int    // 1 is the outermost; 0 is the text before the first heading
	Title string // without markup
	Line  int    // of the heading; 0 for the text before the first one
	First int    // first line below the heading
	Last  int    // last line before the next heading; less than First if there is none
}

// Sections returns the headings of a document in their order. Like the parser of plans, it ignores fences and comments.
// code has the lines in fences. As in [Parse], input that is not text is an error.
func Sections(name string, src []byte) (list []Section, code map[int]bool, err error) {
	if err := readable(src); err != nil {
		return nil, nil, err
	}
	b := newBuilder(name, src)
	code = map[int]bool{}
	front := 1
	if b.front.line > 0 {
		front = b.lineOf(b.front.end-1) + 1
	}
	list = append(list, Section{First: front})
	for _, m := range b.marks {
		switch m.kind {
		case markHeading:
			list[len(list)-1].Last = m.line - 1
			list = append(list, Section{Level: m.level, Title: plain(m.text), Line: m.line, First: max(m.line, m.end) + 1})
		case markFence:
			for n := m.line; n <= m.end; n++ {
				code[n] = true
			}
		}
	}
	list[len(list)-1].Last = len(b.lines)
	return list, code, nil
}
