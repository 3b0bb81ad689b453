#include "textflag.h"

// The init; see init_linux_amd64.s.
//
//	R20 the base of the list, where the message of a fault lies
//	R19 the call that is due
TEXT initCode<>(SB), NOSPLIT|NOFRAME, $0-0
	// mmap(listBase, listRoom, read and write, private | fixed | noreserve, listFile, 0)
	MOVD $222, R8
	MOVD $0x10000000, R0
	MOVD $0x10000000, R1
	MOVD $3, R2
	MOVD $0x4012, R3
	MOVD $4, R4
	MOVD $0, R5
	SVC  $0
	MOVD $0x10000000, R20
	CMP  R20, R0
	BNE  lost
	ADD  $328, R20, R19

due:
	MOVD 0(R19), R8
	MOVD 8(R19), R0
	MOVD 16(R19), R1
	MOVD 24(R19), R2
	MOVD 32(R19), R3
	MOVD 40(R19), R4
	MOVD 48(R19), R5
	SVC  $0
	MOVD 64(R19), R9 // store the result
	CBZ  R9, stored
	MOVD R0, (R9)

stored:
	CMN  $4095, R0
	BHS  failed
	MOVD 72(R19), R9 // again, until the result is what lies there
	CBZ  R9, once
	MOVD (R9), R9
	CMP  R9, R0
	BNE  due

once:
	CBNZ R0, next
	MOVD 80(R19), R9 // where to go on after a result of zero
	CBZ  R9, next
	MOVD R9, R19
	B    due

next:
	ADD $88, R19
	B   due

failed:
	NEG  R0, R0
	CMP  $4, R0 // EINTR
	BEQ  due
	MOVD 56(R19), R9 // the error that is none, or all of them
	CMP  R9, R0
	BEQ  next
	CMN  $1, R9
	BEQ  next
	MOVD R0, 40(R20)
	MOVD R19, 48(R20)
	MOVD $64, R8 // write(control, the message of a fault, its size)
	MOVD $3, R0
	MOVD R20, R1
	MOVD $328, R2
	SVC  $0

lost:
	MOVD $94, R8 // exit_group(125)
	MOVD $125, R0
	SVC  $0
	UNDEF

// func initAddress() *byte
TEXT ·initAddress(SB), NOSPLIT, $0-8
	MOVD $initCode<>(SB), R0
	MOVD R0, ret+0(FP)
	RET
