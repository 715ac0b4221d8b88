//go:build !race

#include "textflag.h"

// func storeInTurn(cells *[3]atomic.Uint64, a, b, c uint64)
//
// On amd64 stores become visible in their order, and after all stores that went before.
TEXT ·storeInTurn(SB), NOSPLIT, $0-32
	MOVQ cells+0(FP), AX
	MOVQ a+8(FP), BX
	MOVQ b+16(FP), CX
	MOVQ c+24(FP), DX
	MOVQ BX, 0(AX)
	MOVQ CX, 8(AX)
	MOVQ DX, 16(AX)
	RET
