package derecho

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/mem"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// indexedLog is a memLog that knows what it has.
type indexedLog struct {
	memLog
	index LogIndex
}

func (l *indexedLog) Begin(s *EpochStart) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.index.Begin(s)
	return nil
}

func (l *indexedLog) holds(ch ChannelID) *LogState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index.Holds(ch, uint64(len(l.synced)))
}

func (l *indexedLog) stored() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.synced...)
}

// A node has stored something in a group of its own. When it comes to others that have stored something else of the
// same channel, its log is refused: it is told why, nothing is written to its log, and the others go on.
func TestRejoinWithAnotherHistory(t *testing.T) {
	var together, apart mem.Network
	logs := []*indexedLog{{index: LogIndex{ID: 0xa}}, {index: LogIndex{ID: 0xb}}}
	joins := func(i int, name string, nets ...*mem.Network) (*Node, *recorder) {
		cfg := Config{Name: name}
		cfg.fabric = func(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error) {
			net := nets[0]
			nets = nets[min(1, len(nets)-1):] // the next incarnation finds the next network
			return net.Attach(rdma.PeerInfo{ID: id, PID: uint32(os.Getpid()), Name: cfg.Name, Fingerprint: cfg.Fingerprint}, bell.Bell(), ev), nil
		}
		cfg.OpenLog = func(SubgroupID) (Log, error) { return logs[i], nil }
		cfg.LogState = func(_ SubgroupID, ch ChannelID) *LogState { return logs[i].holds(ch) }
		r := newRecorder()
		n, err := Join(ctxFor(t), cfg, r)
		require.NoError(t, err)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			require.NoError(t, n.Leave(ctx))
		})
		n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		return n, r
	}
	a, ra := joins(0, "a", &together)
	b, rb := joins(1, "b", &apart, &together)
	for n, text := range map[*Node]string{a: "of a", b: "of b"} {
		n.mustSend(t, logged, 7, 1, text)
		require.NoError(t, n.WaitDurable(ctxFor(t), logged.ID, 7))
	}

	rb.Isolated(ErrExcluded) // until it is told that this is over
	b.life.Load().post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
	rb.wait(t, "the refusal", func() bool { return rb.failed != nil })
	require.ErrorIs(t, rb.failed, ErrHistory)
	require.ErrorContains(t, rb.failed, "the log of this node, 000000000000000b, holds history 000000000000000b of channel 0000000000000007")
	require.ErrorContains(t, rb.failed, "the members go on with history 000000000000000a")
	ra.wait(t, "the other node", func() bool { return len(ra.nodes) == 1 })
	rb.wait(t, "the end of the outage", func() bool { return rb.isolated == nil })
	_, err := b.Reserve(ctxFor(t), logged.ID, 7, 1, time.Time{})
	require.ErrorIs(t, err, ErrNotSender)

	a.mustSend(t, logged, 7, 1, "of a still")
	require.NoError(t, a.WaitDurable(ctxFor(t), logged.ID, 7))
	require.Equal(t, []string{"of a", "of a still"}, logs[0].stored())
	require.Equal(t, []string{"of b"}, logs[1].stored())
	require.Equal(t, uint64(0xb), logs[1].holds(7).History)
	var refused *LogError
	require.ErrorAs(t, rb.failed, &refused)
	require.True(t, refused.Refused)

	// When the others have given their history up, that of this node goes on.
	require.NoError(t, a.RemoveEndpoint(ctxFor(t), 1))
	rb.wait(t, "that it is refused no more", func() bool { return rb.failed == nil })
	b.mustSend(t, logged, 7, 1, "of b still")
	require.NoError(t, b.WaitDurable(ctxFor(t), logged.ID, 7))
	require.Equal(t, []string{"of b", "of b still"}, logs[1].stored())
}

// undelivered is a recorder that keeps what was not delivered.
type undelivered struct {
	*recorder
	texts []string
}

func (u *undelivered) Undelivered(_ SubgroupID, own []Message) {
	u.note(func() {
		for i := range own {
			u.texts = append(u.texts, string(own[i].Payload))
		}
	})
}

// When the others go on without a node it is handed what it has committed and was not handed, also what waits for a
// place before it that is not filled; of a subgroup in which it only sends it is handed nothing, as it does not know
// what the others were handed.
func TestUndelivered(t *testing.T) {
	for _, x := range []struct {
		name  string
		reads []Subgroup
		want  []string
	}{
		{"it receives", []Subgroup{ordered}, []string{"behind", "further behind"}},
		{"it only sends", nil, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, c *cluster) {
				c.join() // with whom the others are a majority
				u := &undelivered{recorder: newRecorder()}
				n, err := Join(ctxFor(t), c.cfg, u)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, n.Leave(ctxFor(t))) })
				r, rr := c.join()
				r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
				n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: x.reads})
				n.mustSend(t, ordered, 7, 1, "delivered")
				require.NoError(t, n.WaitAcked(ctxFor(t), ordered.ID))
				unfinished, err := n.Reserve(ctxFor(t), ordered.ID, 7, 1, time.Time{})
				require.NoError(t, err)
				n.mustSend(t, ordered, 7, 1, "behind")
				n.mustSend(t, ordered, 7, 1, "further behind")
				n.life.Load().post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
				u.wait(t, "the exclusion", func() bool { return u.excluded == 1 })
				u.mu.Lock()
				require.Equal(t, x.want, u.texts)
				u.mu.Unlock()
				unfinished.Abort()
				rr.wait(t, "what was delivered", func() bool { return len(rr.got) == 1 })
			})
		})
	}
}

// What a wait for acknowledgements tells of members that hold it up.
func TestHoldups(t *testing.T) {
	s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
	m := &machine{cat: s.cat}
	m.view.members = []rdma.PeerInfo{{ID: 1, Name: "first", PID: 10, Host: "h"}, {ID: 2, Name: "second", PID: 20, Host: "h"}}
	told := func(missing ...int) (string, bool) {
		d := &descriptor{Subgroup: 4, Members: []memberDesc{{Node: 1}, {Node: 2}}}
		return m.holdups(&epoch{desc: d, g: &subgroup{m: m, id: 4}}, missing)
	}
	for _, do := range []step{keeps(1, LogState{}), writes(1), keeps(2, LogState{})} {
		do(s)
	}
	text, logs := told(0, 1)
	require.Equal(t, "first (pid 10 on h), log 0000000000000001, second (pid 20 on h), log 0000000000000002, which waits for the state of channel 0000000000000007 from first (pid 10 on h)", text)
	require.False(t, logs)

	fails(1)(s)
	m.view.members = m.view.members[1:]
	lacks(2)(s)
	text, logs = told(1)
	require.Equal(t, "second (pid 20 on h), log 0000000000000002; 1 of the 1 logs that have the latest of channel 0000000000000007 "+
		"are not there ([0000000000000001]): start the processes that have them", text)
	require.True(t, logs)
}

// A log may have begun a history that its disk has not kept, and others have gone on with it: what it begins when it
// has been opened again is another one.
func TestHistoriesBegunByOneLogHaveNames(t *testing.T) {
	named := map[uint64]uint32{}
	for opened := range uint32(1000) {
		first, other := &LogState{ID: 5, Opened: opened}, &LogState{ID: 9, Opened: 7}
		name := historyOf([]*LogState{first, other})
		require.Equal(t, name, historyOf([]*LogState{other, first}))
		require.NotContains(t, named, name)
		named[name] = opened
	}
	held := &LogState{ID: 9, Opened: 7, Begun: 3, Epoch: 3, Logs: []uint64{9}, History: 77}
	require.Equal(t, uint64(77), historyOf([]*LogState{{ID: 5, Opened: 2}, held}), "one that is held goes on")
}

// The error of a log that has parted from the members' line does not name one history twice.
func TestPartedLogIsTold(t *testing.T) {
	err := otherHistory(&Endpoint{Log: &LogState{ID: 5, History: 1, Epoch: 3}}, 1)
	require.ErrorIs(t, err, ErrHistory)
	require.ErrorContains(t, err, "never told")
	require.NotContains(t, otherHistory(&Endpoint{Log: &LogState{ID: 5, History: 1}}, 2).Error(), "never told")
}
