package vault

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// File is the input or the answer of one case. ID is the case's name.
type File struct {
	ID   string
	Data []byte
}

const (
	maxCases     = 100_000
	maxID        = 200
	maxFile      = 64 << 20
	maxBundle    = 96 << 20 // GitHub refuses files of more than 100 MiB
	recordHeader = 2 + 8
)

// Bundle is what is known in the open about a sealed half of a split.
type Bundle struct {
	Label
	// Digest is that of the sealed bytes.
	Digest string
}

// SealSplit seals the inputs or answers of the split called name, in whatever
// order the files come. An *Error tells what cannot be sealed: no case, doubled
// names, names with slashes or characters that cannot be seen, too much.
func SealSplit(kind Kind, name string, files []File, to ...Recipient) ([]byte, Bundle, error) {
	l := Label{kind, name, len(files)}
	if kind != Inputs && kind != Answers {
		return nil, Bundle{}, l.fault(Unfit, "a split has inputs and answers")
	}
	sorted := slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.ID, b.ID) })
	if err := l.checkFiles(sorted); err != nil {
		return nil, Bundle{}, err
	}
	size := sizeClass(headerSize + packedSize(sorted))
	if size > maxBundle {
		return nil, Bundle{}, l.fault(TooLarge, "%d bytes with padding, at most %d are allowed", size, maxBundle)
	}
	sealed, err := seal(l, pack(sorted), size, to)
	if err != nil {
		return nil, Bundle{}, err
	}
	return sealed, Bundle{l, Digest(sealed)}, nil
}

// OpenSplit opens what SealSplit has sealed and compares it with what is
// wanted; of that, an empty name or digest and a count of 0 are not compared.
// It gives the files in the order of their names. Its error is an *Error.
func (i Identity) OpenSplit(sealed []byte, want Bundle) ([]File, error) {
	if got := Digest(sealed); want.Digest != "" && got != want.Digest {
		return nil, want.fault(Swapped, "the contract has %s, these bytes are %s", want.Digest, got)
	}
	if want.Kind != Inputs && want.Kind != Answers {
		return nil, want.fault(Unfit, "a split has inputs and answers")
	}
	l, content, err := i.open(sealed, want.Label)
	if err != nil {
		return nil, err
	}
	files, err := unpack(content)
	if err != nil {
		return nil, want.fault(Damaged, "%v", err)
	}
	if err := l.checkFiles(files); err != nil {
		return nil, want.fault(Damaged, "%s", err.Detail)
	}
	return files, nil
}

// checkFiles refuses files in the order of their names that are no half of a
// split of so many cases.
func (l Label) checkFiles(files []File) *Error {
	if len(files) == 0 {
		return l.fault(Unfit, "there is no case")
	}
	if len(files) != l.Cases {
		return l.fault(Unfit, "%d files for %d cases", len(files), l.Cases)
	}
	for i, f := range files {
		switch {
		case !goodID(f.ID):
			return l.fault(Unfit, "the name of file %d of %d is not a plain visible file name of at most %d bytes", i+1, len(files), maxID)
		case len(f.Data) > maxFile:
			return l.fault(TooLarge, "file %d of %d has %d bytes, at most %d are allowed", i+1, len(files), len(f.Data), maxFile)
		case i > 0 && files[i-1].ID >= f.ID:
			return l.fault(Unfit, "files %d and %d of %d have the same name or are out of order", i, i+1, len(files))
		}
	}
	return nil
}

// goodID holds the rules for the names of a split's files.
func goodID(id string) bool {
	return id != "" && len(id) <= maxID && id[0] != '.' && utf8.ValidString(id) &&
		!strings.ContainsFunc(id, func(r rune) bool { return r == '/' || r == '\\' || !unicode.IsPrint(r) })
}

func packedSize(files []File) (size int) {
	for _, f := range files {
		size += recordHeader + len(f.ID) + len(f.Data)
	}
	return size
}

// pack writes files one after the other.
func pack(files []File) []byte {
	out := make([]byte, 0, packedSize(files))
	for _, f := range files {
		out = binary.BigEndian.AppendUint16(out, uint16(len(f.ID)))
		out = binary.BigEndian.AppendUint64(out, uint64(len(f.Data)))
		out = append(out, f.ID...)
		out = append(out, f.Data...)
	}
	return out
}

// unpack reads what pack wrote. The data are not copied.
func unpack(content []byte) ([]File, error) {
	var files []File
	for len(content) > 0 {
		if len(content) < recordHeader || len(files) == maxCases {
			return nil, errors.New("the list of files is cut short or too long")
		}
		name := int(binary.BigEndian.Uint16(content))
		data := binary.BigEndian.Uint64(content[2:])
		content = content[recordHeader:]
		if name > len(content) || data > uint64(len(content)-name) {
			return nil, errors.New("a file is cut short")
		}
		end := name + int(data)
		files = append(files, File{string(content[:name]), content[name:end:end]})
		content = content[end:]
	}
	return files, nil
}

// Case is one case of a split.
type Case struct {
	ID            string
	Input, Answer []byte
}

// Join brings inputs and answers together. It refuses halves that are not
// about the same cases.
func Join(name string, inputs, answers []File) ([]Case, error) {
	l := Label{Answers, name, len(answers)}
	if len(inputs) != len(answers) {
		return nil, l.fault(Swapped, "%d answers for %d inputs", len(answers), len(inputs))
	}
	cases := make([]Case, len(inputs))
	for i, in := range inputs {
		if in.ID != answers[i].ID {
			return nil, l.fault(Swapped, "they are the answers to other inputs")
		}
		cases[i] = Case{in.ID, in.Data, answers[i].Data}
	}
	return cases, nil
}
