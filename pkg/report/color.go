package report

// colors wraps status words in a terminal's colour codes, or leaves them.
type colors bool

func palette(on bool) colors { return colors(on) }

// status colours a status word; nothing else is ever coloured.
func (c colors) status(word string) string {
	if !c {
		return word
	}
	code := "33" // yellow: superseded and whatever else
	switch word {
	case "keep":
		code = "32"
	case "discard", "timeout", "crash":
		code = "31"
	case "invalid":
		code = "35"
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// title gives the title of a column of status words the colour that it has anyway.
func (c colors) title(word string) string {
	if !c {
		return word
	}
	return "\x1b[39m" + word + "\x1b[0m"
}

// Word colours a status word where color is set.
func Word(word string, color bool) string { return palette(color).status(word) }
