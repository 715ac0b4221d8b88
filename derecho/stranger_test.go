package derecho

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// failures is a shell that notes how a machine failed.
type failures struct {
	shell
	told []error
}

func (f *failures) hasFailed(err error) { f.told = append(f.told, err) }

// Somebody runs with another configuration. Only who looks for a group for the first time, and finds nobody else, fails by that.
func TestStrangerOfAnotherConfiguration(t *testing.T) {
	for _, c := range []struct {
		name     string
		id       NodeID
		phase    phase
		scanned  bool
		linked   bool
		then     bool // the scan ends behind it
		expected bool
	}{
		{"nobody else is there", 1, alone, false, false, true, true},
		{"nobody else is there, it is seen late", 1, alone, true, false, false, true},
		{"it is not known yet who is there", 1, alone, false, false, false, false},
		{"another is there", 1, alone, false, true, true, false},
		{"another is asked", 1, joining, true, true, false, false},
		{"it joins again", 2, alone, false, false, true, false},
		{"it is a member", 1, joined, true, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := &failures{}
			m := newMachine(&Config{}, c.id, newRecorder(), told)
			m.phase, m.scanned, m.outcast = c.phase, c.scanned, true // it founds nothing
			if c.linked {
				m.links[9] = &plainLink{peer: rdma.PeerInfo{ID: 9}}
			}
			m.refused(errors.New("another lease"))
			if c.then {
				m.scanned = true
				m.decide()
			}
			require.Equal(t, c.expected, len(told.told) == 1)
			if c.expected {
				require.ErrorIs(t, told.told[0], ErrConfig)
				require.ErrorContains(t, told.told[0], "another lease")
			}
		})
	}
}

// dialled is a fabric that notes whom it is to dial.
type dialled struct {
	startable
	self rdma.PeerInfo
	to   chan uint64
}

func (d *dialled) Self() rdma.PeerInfo  { return d.self }
func (d *dialled) Dial(p rdma.PeerInfo) { d.to <- p.ID }

// Who joins again looks for those who were members before, wherever it was to look at first: those of other hosts, which it does
// not find by itself.
func TestWhoJoinsAgainDialsWhomItKnew(t *testing.T) {
	before := &life{id: 1, m: newMachine(&Config{}, 1, newRecorder(), nil), fabric: &dialled{self: rdma.PeerInfo{ID: 1, ShmDomain: 5}}}
	before.m.view.members = []rdma.PeerInfo{{ID: 1, ShmDomain: 5}, {ID: 2, ShmDomain: 5}, {ID: 3, ShmDomain: 6}, {ID: 4}}
	to := make(chan uint64)
	l := &life{
		id: 2, m: newMachine(&Config{}, 2, newRecorder(), nil), fabric: &dialled{to: to}, former: before.others(),
		joined: make(chan struct{}), over: make(chan struct{}),
	}
	ended := make(chan struct{})
	go func() { l.seek(); close(ended) }()
	for range 2 { // again and again
		require.Equal(t, uint64(3), <-to)
		require.Equal(t, uint64(4), <-to)
	}
	require.Equal(t, l.former, l.others(), "it has not joined, and the next one is to know the same")
	close(l.joined)
	<-ended
}
