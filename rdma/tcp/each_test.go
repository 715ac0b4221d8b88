package tcp

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// With EachPost every value that is posted is in a frame of its own. No post hangs on a link that is over.
func TestEachPost(t *testing.T) {
	n := newNode()
	cfg := n.config("peer")
	cfg.EachPost = true
	near, far := net.Pipe()
	l := NewLink(near, cfg)
	ran := make(chan struct{})
	go func() { defer close(ran); l.Run() }()
	k, posts := rdma.Key{Subgroup: 3, Epoch: 1}, 200
	region := rdma.NewHeapRegion(rdma.Shape{Cells: 8})
	region.Cell(1).Store(1 << 32)
	l.Export(k, region, false, nil)
	frames := make(chan []byte, posts+10)
	go func() {
		defer close(frames)
		for in := bufio.NewReader(far); ; {
			var size [4]byte
			if _, err := io.ReadFull(in, size[:]); err != nil {
				return
			}
			b := make([]byte, binary.LittleEndian.Uint32(size[:]))
			if _, err := io.ReadFull(in, b); err != nil {
				return
			}
			if b[0] == frameWrite {
				frames <- b
			}
		}
	}()
	get(t, "the first state", frames)
	for v := range posts {
		region.Cell(1).Store(uint64(v))
		l.Post(k)
	}
	for v := range posts {
		b := get(t, "a frame", frames)
		require.Equal(t, uint64(v), binary.LittleEndian.Uint64(b[len(b)-8:]))
	}
	far.Close()
	<-ran
	l.Post(k)
	l.Withdraw(k)
	l.Post(k)
}
