//go:build !race

package rdma

import "sync/atomic"

//go:noescape
func storeInTurn(cells *[3]atomic.Uint64, a, b, c uint64)
