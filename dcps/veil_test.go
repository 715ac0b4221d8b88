package dcps

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omg-dds-go/dds/qos"
)

// The tests of this file stop histories anywhere while they are given to readers for whom sets are to be whole.

// streamed are the presentations with which histories are given behind a veil.
var streamed = map[string]qos.Presentation{
	"instance":      coherentScopes["instance"],
	"topic":         coherentScopes["topic"],
	"group":         coherentScopes["group"],
	"group ordered": coherentScopes["group ordered"],
	"ordered":       presentations["group ordered"],
}

// comes makes durable readers at a process, in a Subscriber of its own, and does not wait for the histories.
func (s *stage) comes(t *testing.T, n *node, p qos.Presentation, topics ...string) *stage {
	t.Helper()
	q := qos.DefaultSubscriber()
	q.Presentation = p
	sub, err := n.p.NewSubscriber(WithSubscriberQos(q))
	require.NoError(t, err)
	late := &stage{d: s.d, b: n, sub: sub}
	for _, name := range topics {
		late.readers = append(late.readers, readerOn(t, n, sub, name, durableReader(qos.DurabilityTransient)))
	}
	s.d.bus.settle(t)
	return late
}

// set writes a set of three to each topic.
func (s *stage) set(t *testing.T, value int32) {
	t.Helper()
	s.begin(t)
	for id := range int32(3) {
		for _, w := range s.writers {
			write(t, w, id, value)
		}
	}
	s.end(t)
}

// each is what a reader of each topic has of sets.
func each(topics int, values ...int32) string {
	var of []string
	for _, value := range values {
		of = append(of, fmt.Sprintf("0:%d 1:%d 2:%d", value, value, value))
	}
	return strings.Join(slices.Repeat([]string{strings.Join(of, " ")}, topics), " | ")
}

// withHistory is a stage with three sets in each of two topics, and a process that has their history and gives none of it.
func withHistory(t *testing.T, d *domain, p qos.Presentation) (s *stage, keeper *node) {
	t.Helper()
	s, keeper = inScope(t, d, p, func(*qos.DataWriter) {}, "A", "B")
	for value := range int32(3) {
		s.set(t, value)
	}
	d.settle(t)
	d.bus.inPieces(t, keeper, 0)
	return s, keeper
}

// finished waits until readers have been given all history.
func (s *stage) finished(t *testing.T) {
	t.Helper()
	for _, r := range s.readers {
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	}
}

// Of a history that is given piece by piece nothing is seen before all of it is, with what came meanwhile behind it.
func TestHistoryIsSeenAtOnce(t *testing.T) {
	for scope, p := range streamed {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := withHistory(t, d, p)
			late := s.comes(t, keeper, p, "A", "B")
			for value := range int32(5) {
				for _, w := range s.writers {
					d.bus.part(t, keeper, w, 1, 1)
				}
				require.Equal(t, " | ", late.all(t))
				s.set(t, 3+value)
			}
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			require.Equal(t, each(2, 0, 1, 2, 3, 4, 5, 6, 7), late.all(t))
			s.set(t, 8)
			require.Equal(t, each(2, 8), late.all(t))
			require.Zero(t, late.lost())
			require.Zero(t, d.bus.lent(t, keeper, s.writers[0]))
		})
	}
}

// Readers of one Subscriber with GROUP access see their histories at the same time; in the other scopes none waits for one that
// has no history to be given.
func TestWhoWaitsForTheHistoryOfOthers(t *testing.T) {
	for scope, p := range streamed {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := withHistory(t, d, p)
			late := s.comes(t, keeper, p, "A")
			late.readers = append(late.readers, readerOn(t, keeper, late.sub, "B", readerQos()))
			d.settle(t)
			d.bus.part(t, keeper, s.writers[0], 4, 2)
			s.set(t, 3)
			if p.AccessScope == qos.PresentationGroup {
				require.Equal(t, " | ", late.all(t))
			} else {
				require.Equal(t, " | 0:3 1:3 2:3", late.all(t))
			}
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			if p.AccessScope == qos.PresentationGroup {
				require.Equal(t, each(1, 0, 1, 2, 3)+" | "+each(1, 3), late.all(t))
			} else {
				require.Equal(t, each(1, 0, 1, 2, 3)+" | ", late.all(t))
			}
			require.Zero(t, late.lost())
		})
	}
}

// Two readers of a topic, which wait for each other if the order is that of a group.
func TestTwoReadersAreGivenTheHistoryOfATopic(t *testing.T) {
	for scope, p := range streamed {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := withHistory(t, d, p)
			late := s.comes(t, keeper, p, "A", "A")
			d.bus.part(t, keeper, s.writers[0], 3, 1)
			s.set(t, 3)
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			require.Equal(t, each(2, 0, 1, 2, 3), late.all(t))
			require.Zero(t, late.lost())
		})
	}
}

// A reader that goes leaves the others what they are given.
func TestOneOfTwoReadersGoes(t *testing.T) {
	for scope, p := range streamed {
		for _, parts := range []int{1, 20} { // in the midst of its history, and when it has all
			t.Run(fmt.Sprintf("%s, after %d pieces", scope, parts), func(t *testing.T) {
				d := onBus(t)
				s, keeper := withHistory(t, d, p)
				late := s.comes(t, keeper, p, "A", "B")
				d.bus.part(t, keeper, s.writers[0], parts, 2)
				d.bus.part(t, keeper, s.writers[1], 20, 2)
				require.NoError(t, late.readers[0].Close())
				late.readers = late.readers[1:]
				s.set(t, 3)
				d.bus.inPieces(t, keeper, 1)
				late.finished(t)
				require.Equal(t, each(1, 0, 1, 2, 3), late.all(t))
				require.Zero(t, d.bus.lent(t, keeper, s.writers[0]))
			})
		}
	}
}

// Nor is anything of a writer seen before that is gone when the reader comes.
func TestHistoryOfWhoIsGoneIsSeenAtOnce(t *testing.T) {
	for scope, p := range streamed {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := withHistory(t, d, p)
			d.crash(s.a)
			d.bus.settle(t)
			late := s.comes(t, keeper, p, "A", "B")
			d.bus.part(t, keeper, s.writers[0], 6, 1)
			require.Equal(t, " | ", late.all(t))
			require.NoError(t, late.sub.BeginAccess())
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			if p.AccessScope == qos.PresentationGroup {
				require.Equal(t, " | ", late.all(t))
			}
			require.NoError(t, late.sub.EndAccess())
			require.Equal(t, strings.NewReplacer(" | ", "! | ", " ", "! ").Replace(each(2, 0, 1, 2))+"!", late.all(t))
		})
	}
}

// A writer that ends leaves its instances behind all that is shown.
func TestWriterEndsBehindTheVeil(t *testing.T) {
	for scope, p := range streamed {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := withHistory(t, d, p)
			late := s.comes(t, keeper, p, "A", "B")
			d.bus.part(t, keeper, s.writers[0], 3, 1)
			d.crash(s.a)
			d.bus.settle(t)
			require.Equal(t, " | ", late.all(t))
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			require.Equal(t, strings.NewReplacer(" | ", "! | ", " ", "! ").Replace(each(2, 0, 1, 2))+"!", late.all(t))
			require.Zero(t, late.lost())
		})
	}
}

// What is under the veil while its process is excluded is given anew, and nothing is lost or taken twice, but what readers get
// that ask for no history.
func TestExclusionBehindTheVeil(t *testing.T) {
	for scope, p := range streamed {
		for _, parts := range []int{3, 20} {
			t.Run(fmt.Sprintf("%s, after %d pieces", scope, parts), func(t *testing.T) {
				d := onBus(t)
				s, other := withHistory(t, d, p)
				d.bus.inPieces(t, other, 1)
				keeper := d.node(t)
				readerOn(t, keeper, keeper.sub, "A", durableReader(qos.DurabilityTransient))
				d.settle(t)
				d.bus.inPieces(t, keeper, 0)
				late := s.comes(t, keeper, p, "A")
				volatile := &stage{d: d, b: keeper, sub: late.sub, readers: []*DataReader[track]{readerOn(t, keeper, late.sub, "B", readerQos())}}
				d.settle(t)
				d.bus.part(t, keeper, s.writers[0], parts, 2)
				s.set(t, 3)
				d.bus.exclude(keeper)
				s.set(t, 4)
				d.bus.rejoin(keeper)
				require.NoError(t, keeper.p.WaitForDomain(patiently(t)))
				d.bus.inPieces(t, keeper, 1)
				late.finished(t)
				s.set(t, 5)
				require.Equal(t, each(1, 0, 1, 2, 3, 4, 5), late.all(t))
				require.Zero(t, late.lost())
				shown := 3 - volatile.lost()
				if p.CoherentAccess {
					require.Contains(t, []int32{0, 3}, shown)
				}
				want := strings.Fields(each(1, 3, 5))
				require.Equal(t, slices.Delete(want, int(shown), 3), strings.Fields(volatile.all(t)))
			})
		}
	}
}

// An access in which the history is shown ends before it is seen.
func TestHistoryIsShownDuringAnAccess(t *testing.T) {
	for _, scope := range []string{"group", "group ordered", "ordered"} {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := withHistory(t, d, streamed[scope])
			late := s.comes(t, keeper, streamed[scope], "A", "B")
			require.NoError(t, late.sub.BeginAccess())
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			require.Equal(t, " | ", late.all(t))
			require.NoError(t, late.sub.EndAccess())
			require.Equal(t, each(2, 0, 1, 2), late.all(t))
		})
	}
}

// While a reader is shown the history the polling goroutine does not wait for it. A history that comes then is seen behind it.
func TestAnotherHistoryComesWhileOneIsShown(t *testing.T) {
	for scope, p := range streamed {
		for _, excluded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, excluded %v", scope, excluded), func(t *testing.T) {
				d := onBus(t)
				s, keeper := withHistory(t, d, p)
				late := s.comes(t, keeper, p, "A")
				late.readers[0].untyped().mu.Lock()
				d.bus.part(t, keeper, s.writers[0], 20, 2)
				s.set(t, 3)
				late.readers = append(late.readers, readerOn(t, keeper, late.sub, "B", durableReader(qos.DurabilityTransient)))
				d.bus.part(t, keeper, s.writers[1], 3, 1)
				if excluded {
					d.bus.exclude(keeper)
					d.bus.rejoin(keeper)
					require.NoError(t, keeper.p.WaitForDomain(patiently(t)))
				}
				late.readers[0].untyped().unlock()
				d.bus.inPieces(t, keeper, 1)
				late.finished(t)
				s.set(t, 4)
				require.Equal(t, each(2, 0, 1, 2, 3, 4), late.all(t))
				require.Zero(t, late.lost())
			})
		}
	}
}

// Whatever a Publisher writes while readers are given the history, in pieces of any size: what a reader sees of its topic is at
// any time what was written up to some moment outside of sets, and in the end all.
func TestWhatIsSeenOfAHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := onBus(t)
		defer func() {
			for _, n := range d.nodes {
				_ = n.p.Close()
			}
		}()
		scope := rapid.SampledFrom([]string{"instance", "topic", "group", "group ordered"}).Draw(rt, "scope")
		topics := []string{"A", "B"}
		s, keeper := inScope(t, d, streamed[scope], func(*qos.DataWriter) {}, topics...)
		var readers []*stage
		var got [][]string
		whole := [][]string{{""}, {""}} // by topic: what may be seen
		pending := make([]string, len(topics))
		open := false
		settle := func() {
			for k, text := range pending {
				whole[k] = append(whole[k], whole[k][len(whole[k])-1]+text)
				pending[k] = ""
			}
		}
		look := func(i int) {
			for k, text := range strings.Split(readers[i].all(t), " | ") {
				if text != "" {
					got[i][k] += text + " "
				}
				if !slices.Contains(whole[k], got[i][k]) {
					rt.Fatalf("reader %d of topic %d sees\n%q of\n%q", i, k, got[i][k], whole[k])
				}
			}
		}
		value := int32(0)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			k := rapid.IntRange(0, len(topics)-1).Draw(rt, "topic")
			switch what := rapid.IntRange(0, 12).Draw(rt, "what"); {
			case what == 0 && open:
				s.end(t)
				open = false
				settle()
			case what == 1 && !open:
				s.begin(t)
				open = true
			case what == 2:
				d.bus.inPieces(t, keeper, rapid.IntRange(0, 3).Draw(rt, "pieces of"))
			case what <= 4 && len(readers) < 5:
				d.bus.inPieces(t, keeper, 0)
				readers = append(readers, s.comes(t, keeper, streamed[scope], topics...))
				got = append(got, make([]string, len(topics)))
			case what <= 6 && len(readers) > 0:
				look(rapid.IntRange(0, len(readers)-1).Draw(rt, "who looks"))
			case what <= 8 && keeper.p.hub.atOnce == 0:
				d.bus.part(t, keeper, s.writers[k], rapid.IntRange(1, 3).Draw(rt, "parts"), rapid.IntRange(1, 4).Draw(rt, "of"))
			default:
				value++
				write(t, s.writers[k], 1, value)
				pending[k] += fmt.Sprintf("1:%d ", value)
				if !open {
					settle()
				}
			}
		}
		if open {
			s.end(t)
			settle()
		}
		d.bus.inPieces(t, keeper, 1)
		for i := range readers {
			readers[i].finished(t)
			look(i)
			for k := range topics {
				require.Equal(t, whole[k][len(whole[k])-1], got[i][k])
			}
			require.Zero(t, readers[i].lost())
		}
	})
}

// What has waited in streams for a history leaves them in pieces, and is seen at once.
func TestWhatWaitedForAHistoryLeavesInPieces(t *testing.T) {
	d := onBus(t)
	p := streamed["ordered"]
	s, keeper := inScope(t, d, p, func(*qos.DataWriter) {}, "A", "B")
	for i := range int32(5) {
		write(t, s.writers[0], 1, i)
	}
	d.settle(t)
	d.bus.inPieces(t, keeper, 0)
	late := s.comes(t, keeper, p, "A")
	late.readers = append(late.readers, readerOn(t, keeper, late.sub, "B", readerQos(func(q *qos.DataReader) { q.History.Kind = qos.HistoryKeepAll })))
	d.settle(t)
	const n = 1000
	write(t, s.writers[0], 1, 5)
	for i := range int32(n) {
		write(t, s.writers[1], 1, i)
	}
	d.bus.settle(t)
	require.NoError(t, d.bus.of(keeper).Upcall(patiently(t), func() {
		h, a := keeper.p.hub, late.sub.access
		h.atOnce = 100
		for _, b := range slices.Clone(h.channels[s.writers[0].untyped().at].backlogs) {
			for done := false; !done; _, done = h.giveSome(b) {
			}
		}
		left := 0
		for _, s := range a.all {
			left += len(s.queue)
		}
		require.Positive(t, left)
		require.Less(t, left, n)
		require.NotNil(t, a.lags)
	}))
	late.finished(t)
	want := strings.Split(late.all(t), " | ")
	require.Equal(t, "1:0 1:1 1:2 1:3 1:4 1:5", want[0])
	require.Len(t, strings.Fields(want[1]), n)
}

// given gives all that is owed to one reader, and nothing to others.
func (s *stage) given(t *testing.T, r *DataReader[track]) {
	t.Helper()
	require.NoError(t, s.d.bus.of(s.b).Upcall(patiently(t), func() {
		h := s.b.p.hub
		h.atOnce = 2
		for _, c := range h.channels {
			if b := c.backlogOf(r.untyped()); b != nil {
				for p, done := h.giveSome(b); !done; p, done = h.giveSome(b) {
					if p != nil {
						p.prepare()
						p.drop()
					}
				}
			}
		}
		h.atOnce = 0
	}))
}

// A reader sees its history when it has it, also if another one of the same topic is still to be given the same.
func TestHistoryDoesNotWaitForAnotherReader(t *testing.T) {
	for scope, p := range streamed {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := withHistory(t, d, p)
			late := s.comes(t, keeper, p, "A", "A")
			late.given(t, late.readers[0])
			require.NoError(t, late.readers[0].WaitForHistoricalData(patiently(t)))
			require.Equal(t, each(1, 0, 1, 2)+" | ", late.all(t))
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			require.Equal(t, " | "+each(1, 0, 1, 2), late.all(t))
		})
	}
}

// The only reader of a Subscriber is being closed, or not announced yet, when its process is excluded.
func TestExclusionOfNobodyBehindTheVeil(t *testing.T) {
	for _, how := range []string{"closing", "not enabled yet"} {
		t.Run(how, func(t *testing.T) {
			d := onBus(t)
			p := streamed["topic"]
			s, other := withHistory(t, d, p)
			d.bus.inPieces(t, other, 1)
			keeper := d.node(t)
			readerOn(t, keeper, keeper.sub, "A", durableReader(qos.DurabilityTransient))
			d.settle(t)
			d.bus.inPieces(t, keeper, 0)
			late := s.comes(t, keeper, p, "A")
			for hangs := false; !hangs; {
				d.bus.part(t, keeper, s.writers[0], 1, 2)
				require.NoError(t, d.bus.of(keeper).Upcall(patiently(t), func() { hangs = late.sub.access.veil != nil }))
			}
			r := late.readers[0].untyped()
			r.ended.Store(how == "closing")
			r.enabled.Store(how == "closing")
			d.bus.exclude(keeper)
			<-time.After(20 * time.Millisecond) // who shows what is behind the veil finds out that it can not
			r.ended.Store(false)
			r.enabled.Store(true)
			if how == "closing" {
				require.NoError(t, r.Close())
			}
			d.bus.rejoin(keeper)
			require.NoError(t, keeper.p.WaitForDomain(patiently(t)))
			if how == "closing" {
				late.readers = []*DataReader[track]{readerOn(t, keeper, late.sub, "A", durableReader(qos.DurabilityTransient))}
			}
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			require.Equal(t, each(1, 0, 1, 2), late.all(t))
		})
	}
}

// Who writes faster than readers are shown what is behind a veil waits for them.
func TestWritersWaitForAVeil(t *testing.T) {
	for scope, p := range streamed {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := withHistory(t, d, p)
			late := s.comes(t, keeper, p, "A")
			wait := func() bool {
				n, _ := keeper.p.holds.counts.Load(s.writers[0].untyped().at)
				return n.(*atomic.Int32).Load() > 0
			}
			late.readers[0].untyped().mu.Lock()
			late.given(t, late.readers[0])
			for value := int32(0); value < 20 && !wait(); value++ {
				write(t, s.writers[0], 1, value)
				d.bus.settle(t)
			}
			held := wait()
			late.readers[0].untyped().unlock()
			d.bus.inPieces(t, keeper, 1)
			late.finished(t)
			require.True(t, held)
			d.settle(t)
			require.False(t, wait())
		})
	}
}
