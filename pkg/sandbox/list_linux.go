//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The init is no Go program but the few instructions of init_linux_*.s, which
// make the system calls of a list in turn. The supervisor writes the list, with
// all that its calls point to, into a file in memory; the init maps it at
// listBase and goes through it:
//
//	message     of a fault, filled in where a call fails
//	calls       callWords words each
//	data        what arguments point to
//
// Every call must succeed or fail with the one error that is tolerated, or else
// the init sends the message of a fault and ends. So the list can name the
// descriptors that calls will return: the kernel gives the lowest that is free,
// and no call that may fail returns one.
const (
	listBase = 0x10000000
	listRoom = 0x10000000 // bytes that a list may have
	listFile = 4          // the descriptor of the list when the init starts
	control  = 3          // the socket to the supervisor

	callWords = 11
	callBytes = callWords * 8
	initBytes = 512 // as much of the text as is copied, more than it is
)

// call is one system call.
type call struct {
	number   uintptr
	args     [6]any // integer, address, string or []byte
	tolerate unix.Errno
	store    address // receives the result
	until    address // the call is made again until its result is what lies here
	zero     int     // 1 + the index of the call to go on with after a result of 0
}

// everything tolerates whatever error there is.
const everything = ^unix.Errno(0)

// address is a place in the data of a list, plus 1; the zero value is none.
type address uint64

// pointer is a word of the data that holds an address.
type pointer struct{ at, to address }

// list is a list under construction.
type list struct {
	calls    []call
	what     []string // what each call is for
	topic    string   // of the calls that are added
	data     []byte
	pointers []pointer
	texts    map[string]address
	open     []bool // by descriptor
}

func newList() *list {
	l := &list{texts: map[string]address{}}
	l.open = []bool{true, true, true, true, true}
	return l
}

// add appends a call and returns its index.
func (l *list) add(c call) int {
	l.calls, l.what = append(l.calls, c), append(l.what, l.topic)
	return len(l.calls) - 1
}

// do appends a call that must succeed.
func (l *list) do(number uintptr, args ...any) { l.may(0, number, args...) }

// may appends a call that may fail with one error.
func (l *list) may(tolerate unix.Errno, number uintptr, args ...any) {
	c := call{number: number, tolerate: tolerate}
	copy(c.args[:], args)
	l.add(c)
}

// opens appends a call that returns a descriptor, and tells which.
func (l *list) opens(number uintptr, args ...any) int {
	l.do(number, args...)
	fd := l.lowest()
	l.open[fd] = true
	return fd
}

// lowest is the descriptor that the next call to open one will return.
func (l *list) lowest() int {
	fd := slices.Index(l.open, false)
	if fd < 0 {
		l.open = append(l.open, false)
		fd = len(l.open) - 1
	}
	return fd
}

func (l *list) close(fd int) {
	l.do(unix.SYS_CLOSE, fd)
	l.open[fd] = false
}

// room reserves zeroed data, aligned for every type.
func (l *list) room(bytes int) address {
	l.data = append(l.data, make([]byte, -len(l.data)&15)...)
	at := address(len(l.data) + 1)
	l.data = append(l.data, make([]byte, bytes)...)
	return at
}

// bytes puts bytes into the data.
func (l *list) bytes(b []byte) address {
	at := l.room(len(b))
	copy(l.data[at-1:], b)
	return at
}

// text puts a string that ends in NUL into the data, once for all.
func (l *list) text(s string) address {
	at, ok := l.texts[s]
	if !ok {
		at = l.bytes(append([]byte(s), 0))
		l.texts[s] = at
	}
	return at
}

// vector is a list of strings as execve takes it.
func (l *list) vector(strings []string) address {
	at := l.room(8 * (len(strings) + 1))
	for i, s := range strings {
		l.point(at+address(8*i), l.text(s))
	}
	return at
}

// point makes the word at one place the address of another.
func (l *list) point(at, to address) { l.pointers = append(l.pointers, pointer{at, to}) }

// value puts a value of fixed layout into the data.
func value[T any](l *list, v T) address {
	return l.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// image is the finished list.
func (l *list) image() ([]byte, error) {
	var calls []byte
	start := uint64(listBase + messageBytes + len(l.calls)*callBytes)
	place := func(a address) uint64 {
		if a == 0 {
			return 0
		}
		return start + uint64(a) - 1
	}
	word := func(v uint64) { calls = binary.NativeEndian.AppendUint64(calls, v) }
	for _, c := range l.calls {
		word(uint64(c.number))
		for _, a := range c.args {
			word(l.argument(a, place))
		}
		word(uint64(int64(int(c.tolerate))))
		word(place(c.store))
		word(place(c.until))
		if c.zero == 0 {
			word(0)
		} else {
			word(uint64(listBase + messageBytes + (c.zero-1)*callBytes))
		}
	}
	for _, p := range l.pointers {
		binary.NativeEndian.PutUint64(l.data[p.at-1:], place(p.to))
	}
	fault := message{Kind: kindFault}
	out := append(fault.bytes(), calls...)
	if out = append(out, l.data...); len(out) > listRoom {
		return nil, fmt.Errorf("the plan has %d bytes, at most %d are possible", len(out), listRoom)
	}
	return out, nil
}

func (l *list) argument(a any, place func(address) uint64) uint64 {
	switch a := a.(type) {
	case nil:
		return 0
	case int:
		return uint64(a)
	case uint64:
		return a
	case uintptr:
		return uint64(a)
	case address:
		return place(a)
	case string:
		return place(l.text(a))
	case []byte:
		return place(l.bytes(a))
	}
	panic(fmt.Sprintf("sandbox: argument of type %T", a)) // cannot happen: this package's own calls
}

// name says what the call was for whose address a fault bears.
func (l *list) name(address uint64) string {
	i := (int64(address) - listBase - messageBytes) / callBytes
	if i < 0 || i >= int64(len(l.what)) {
		return "its init"
	}
	return l.what[i]
}

// kind says what a message of the init means.
type kind uint64

const (
	kindFault   kind = iota + 1 // a call failed
	kindScratch                 // with one descriptor for each scratch to collect
	kindReady                   // a plan without command stands
	kindExec                    // the command is about to be started
	kindCommand                 // an attempt to start it failed
	kindExit                    // it has ended
)

// message is what the init tells the supervisor, in the layout in which calls
// fill it in.
type message struct {
	Kind   kind
	Clock  unix.Timespec // monotonic
	CPU    unix.Timespec // of the init up to now
	Result int64         // of the call: an errno, a wait status
	Call   uint64        // a fault: the address of the call; a command: the result of the look at it
	Before unix.Timespec // CPU time when the plan began
	Look   unix.Statx_t  // a command: what stands there
}

// Where the calls of a list put things in a message.
const (
	atClock      = 8
	atCPU        = 24
	atResult     = 40
	atCall       = 48
	atBefore     = 56
	atLook       = 72
	messageBytes = 328
)

func (m *message) bytes() []byte {
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(m)), messageBytes))
}

func readMessage(b []byte) message {
	var m message
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&m)), messageBytes), b)
	return m
}

// initAddress is where the first instruction of the init lies.
func initAddress() *byte

// newProgram makes the init's program, in memory: the smallest file that the
// kernel starts, with nothing of this process in it.
func newProgram() (*os.File, error) {
	const at, header = 0x400000, 64 + 56
	code := unsafe.Slice(initAddress(), initBytes)
	size := uint64(header + initBytes)
	ne := binary.NativeEndian
	out := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0} // 64 bits, little endian
	for _, half := range []uint16{2, initMachine} {
		out = ne.AppendUint16(out, half)
	}
	out = ne.AppendUint32(out, 1)
	for _, word := range []uint64{at + header, 64, 0} { // entry, program headers, no sections
		out = ne.AppendUint64(out, word)
	}
	out = ne.AppendUint32(out, 0)
	for _, half := range []uint16{64, 56, 1, 0, 0, 0} {
		out = ne.AppendUint16(out, half)
	}
	out = ne.AppendUint32(ne.AppendUint32(out, 1), 5)               // load all of it, to read and execute
	for _, word := range []uint64{0, at, at, size, size, 0x10000} { // aligned for the largest page
		out = ne.AppendUint64(out, word)
	}
	return memoryFile(initName, append(out, code...), unix.MFD_EXEC)
}

// memoryFile makes a file in memory that nobody can change any more.
func memoryFile(name string, data []byte, flags int) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|flags)
	if errors.Is(err, unix.EINVAL) { // a kernel that knows no flag for it
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, err
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return f, err
}
