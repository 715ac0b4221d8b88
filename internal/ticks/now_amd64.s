#include "textflag.h"

// func Now() uint64
//
// Not serialized: it may be read some instructions earlier or later.
TEXT ·Now(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
