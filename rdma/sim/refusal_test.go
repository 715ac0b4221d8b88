package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// refused notes what is told of its links.
type refused struct {
	opener
	links []rdma.Link
	told  []string
}

func (r *refused) LinkUp(l rdma.Link)                    { r.links = append(r.links, l) }
func (r *refused) LinkDown(_ rdma.Link, _ bool, _ error) { r.told = append(r.told, "down") }
func (r *refused) Dying(rdma.Link)                       { r.told = append(r.told, "dying") }
func (r *refused) Resumed(rdma.Link)                     { r.told = append(r.told, "resumed") }

// What is cut off refuses connections until it is not any more, if Rejects; and whoever has died on another host for
// ever, until it is given up.
func TestRefusals(t *testing.T) {
	for _, rejects := range []bool{true, false} {
		w := NewWorld(1)
		w.Rejects = rejects
		a, b := &refused{}, &refused{}
		fa := w.Attach(rdma.PeerInfo{ID: 1}, 1, a, func() {})
		fa.Start()
		fb := w.Attach(rdma.PeerInfo{ID: 2}, 2, b, func() {})
		fb.Start()
		run := func() { w.Run(w.Now()+1<<40, nil) }
		run()
		var want []string
		for range 2 {
			w.Wall(1, 2, true) // in one direction is enough
			run()
			if rejects {
				want = append(want, "dying")
			}
			require.Equal(t, want, a.told)
			w.Wall(1, 2, false)
			run()
			if rejects {
				want = append(want, "resumed")
			}
			require.Equal(t, want, a.told)
			require.Equal(t, want, b.told)
		}
		fb.Crash()
		run()
		require.Equal(t, append(want, "dying"), a.told)
		require.Len(t, a.links, 1)
		a.links[0].Drop(nil)
		run()
		require.Equal(t, append(want, "dying", "down"), a.told)
		require.NoError(t, fa.Close())
	}
}

// A link that was refused once is made anew if it is dropped, also when it is refused no more by then: its address is
// dialled for ever.
func TestDroppedAfterRefusal(t *testing.T) {
	for _, rejects := range []bool{true, false} {
		w := NewWorld(1)
		w.Rejects = rejects
		a, b := &refused{}, &refused{}
		w.Attach(rdma.PeerInfo{ID: 1}, 1, a, func() {}).Start()
		w.Attach(rdma.PeerInfo{ID: 2}, 2, b, func() {}).Start()
		run := func() { w.Run(w.Now()+1<<40, nil) }
		run()
		w.Wall(1, 2, true)
		run()
		w.Wall(1, 2, false)
		run()
		a.links[0].Drop(nil)
		run()
		links := 1
		if rejects {
			links++
		}
		require.Len(t, a.links, links)
		require.Len(t, b.links, links)
	}
}
