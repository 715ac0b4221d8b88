//go:build !amd64 || race

package rdma

import "sync/atomic"

func storeInTurn(cells *[3]atomic.Uint64, a, b, c uint64) {
	cells[0].Store(a)
	cells[1].Store(b)
	cells[2].Store(c)
}
