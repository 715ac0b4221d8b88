//go:build !race

#include "textflag.h"

// func Store(word *atomic.Uint64, value uint64)
//
// On amd64 a store becomes visible after all loads and stores that went before.
TEXT ·Store(SB), NOSPLIT, $0-16
	MOVQ word+0(FP), AX
	MOVQ value+8(FP), BX
	MOVQ BX, 0(AX)
	RET
