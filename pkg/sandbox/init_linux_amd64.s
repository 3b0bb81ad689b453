#include "textflag.h"

// The init: a loop over a list of system calls; see list_linux.go for what a
// call is. It is copied into a program of its own (image), so it may use nothing
// but registers, jumps within itself and the list. All constants are those of
// list_linux.go.
//
//	R13 the base of the list, where the message of a fault lies
//	R12 the call that is due
TEXT initCode<>(SB), NOSPLIT|NOFRAME, $0-0
	// mmap(listBase, listRoom, read and write, private | fixed | noreserve, listFile, 0)
	MOVQ $9, AX
	MOVQ $0x10000000, DI
	MOVQ $0x10000000, SI
	MOVQ $3, DX
	MOVQ $0x4012, R10
	MOVQ $4, R8
	MOVQ $0, R9
	SYSCALL
	MOVQ $0x10000000, R13
	CMPQ AX, R13
	JNE  lost
	LEAQ 328(R13), R12

due:
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	MOVQ 48(R12), R9
	SYSCALL
	MOVQ 64(R12), BX // store the result
	TESTQ BX, BX
	JEQ  stored
	MOVQ AX, (BX)

stored:
	CMPQ AX, $-4095
	JCC  failed
	MOVQ 72(R12), BX // again, until the result is what lies there
	TESTQ BX, BX
	JEQ  once
	CMPQ AX, (BX)
	JNE  due

once:
	TESTQ AX, AX
	JNE  next
	MOVQ 80(R12), BX // where to go on after a result of zero
	TESTQ BX, BX
	JEQ  next
	MOVQ BX, R12
	JMP  due

next:
	ADDQ $88, R12
	JMP  due

failed:
	NEGQ AX
	CMPQ AX, $4 // EINTR
	JEQ  due
	MOVQ 56(R12), BX // the error that is none, or all of them
	CMPQ BX, AX
	JEQ  next
	CMPQ BX, $-1
	JEQ  next
	MOVQ AX, 40(R13)
	MOVQ R12, 48(R13)
	MOVQ $1, AX // write(control, the message of a fault, its size)
	MOVQ $3, DI
	MOVQ R13, SI
	MOVQ $328, DX
	SYSCALL

lost:
	MOVQ $231, AX // exit_group(125)
	MOVQ $125, DI
	SYSCALL
	UNDEF

// func initAddress() *byte
TEXT ·initAddress(SB), NOSPLIT, $0-8
	LEAQ initCode<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
