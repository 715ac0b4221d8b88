package derecho

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// What a pass of the poller stores though nothing came shares no cache line with what a writer loads for each message,
// wherever the epoch lies.
func TestEpochLines(t *testing.T) {
	var e epoch
	first, last := unsafe.Offsetof(e.stable), unsafe.Offsetof(e.delivered)+unsafe.Sizeof(e.delivered)
	require.Greater(t, unsafe.Offsetof(e.settled), first)
	require.Less(t, unsafe.Offsetof(e.settled), last)
	for name, at := range map[string][2]uintptr{
		"g": {unsafe.Offsetof(e.g), unsafe.Sizeof(e.g)}, "desc": {unsafe.Offsetof(e.desc), unsafe.Sizeof(e.desc)},
		"key": {unsafe.Offsetof(e.key), unsafe.Sizeof(e.key)}, "receivers": {unsafe.Offsetof(e.receivers), unsafe.Sizeof(e.receivers)},
		"readers": {unsafe.Offsetof(e.readers), unsafe.Sizeof(e.readers)}, "receiving": {unsafe.Offsetof(e.receiving), unsafe.Sizeof(e.receiving)},
		"table": {unsafe.Offsetof(e.table), unsafe.Sizeof(e.table)}, "off": {unsafe.Offsetof(e.off), unsafe.Sizeof(e.off)},
		"sender": {unsafe.Offsetof(e.sender), unsafe.Sizeof(e.sender)}, "writersMu": {unsafe.Offsetof(e.writersMu), unsafe.Sizeof(e.writersMu)},
		"out": {unsafe.Offsetof(e.out), unsafe.Sizeof(e.out)}, "held": {unsafe.Offsetof(e.held), unsafe.Sizeof(e.held)},
		"waiters": {unsafe.Offsetof(e.waiters), unsafe.Sizeof(e.waiters)},
	} {
		require.True(t, at[0]+at[1]+63 <= first || at[0] >= last+63, name)
	}
}
