package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// opener asks for a region of whomever it is linked to.
type opener struct {
	key    rdma.Key
	shape  rdma.Shape
	opened *rdma.Region
}

func (o *opener) LinkUp(l rdma.Link) {
	if o.shape.Cells > 0 {
		l.Open(o.key, o.shape)
	}
}
func (o *opener) LinkDown(rdma.Link, bool, error)                         {}
func (o *opener) Message(rdma.Link, []byte)                               {}
func (o *opener) Dying(rdma.Link)                                         {}
func (o *opener) Resumed(rdma.Link)                                       {}
func (o *opener) Opened(_ rdma.Link, _ rdma.Key, r *rdma.Region, _ error) { o.opened = r }
func (o *opener) Scanned()                                                {}
func (o *opener) Refused(rdma.PeerInfo, error)                            {}

// Between the stores of a message a node stands still, or ends, and who shares its memory sees them one after the other.
func TestPublished(t *testing.T) {
	key, shape := rdma.Key{Subgroup: 1, Epoch: 1}, rdma.Shape{Cells: 32, Ring: 4096}
	for name, of := range map[string]struct {
		host   uint64 // of the other
		crash  int    // after so many pushes
		looks  []published
		pushes int
	}{
		"the memory is shared": {host: 1, looks: []published{{64, 0, 0}, {64, 1, 0}}, pushes: 3},
		"ends behind Tail":     {host: 1, crash: 1, looks: []published{{64, 0, 0}}, pushes: 1},
		"ends behind Real":     {host: 1, crash: 2, looks: []published{{64, 0, 0}, {64, 1, 0}}, pushes: 2},
		"nobody shares it":     {host: 2, pushes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWorld(1)
			other := &opener{key: key, shape: shape}
			f := w.Attach(rdma.PeerInfo{ID: 1}, 1, &opener{}, func() {})
			var looks []published
			f.Torn = func() { looks = append(looks, (&ring{Region: other.opened}).load()) }
			f.Start()
			region, err := f.Register(key, shape)
			require.NoError(t, err)
			w.Attach(rdma.PeerInfo{ID: 2}, of.host, other, func() {}).Start()
			w.Run(1<<40, nil)
			require.NotNil(t, other.opened)

			before := f.Pushes
			if of.crash > 0 {
				f.CrashAt = before + of.crash
			}
			region.StoreInTurn(rdma.TailCell, 64, 1, 1)
			func() {
				defer func() {
					if x := recover(); x != nil {
						require.Equal(t, Crash{f}, x)
						looks = append(looks, (&ring{Region: other.opened}).load())
					}
				}()
				f.Stored()
			}()
			require.Equal(t, of.looks, looks)
			require.Equal(t, of.pushes, f.Pushes-before)
			require.Equal(t, of.crash > 0, f.Tearing())
			if of.crash == 0 {
				f.Published()
				require.Equal(t, published{64, 1, 1}, (&ring{Region: region}).load())
				require.Equal(t, before+of.pushes, f.Pushes, "once")
			}
		})
	}
}
