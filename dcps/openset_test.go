package dcps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// The tests of this file cut histories in the midst of coherent sets.

// inScope makes the durable writers and the Subscriber of a scope, and a process that keeps the history.
func inScope(t *testing.T, d *domain, p qos.Presentation, change func(*qos.DataWriter), topics ...string) (s *stage, keeper *node) {
	s = newEmptyStage(t, d, p)
	keeper = d.node(t)
	for _, name := range topics {
		s.writers = append(s.writers, writerOn(t, s.a, s.pub, name, durably(qos.DurabilityTransient, keepAll, change)))
		readerOn(t, keeper, keeper.sub, name, durableReader(qos.DurabilityTransient))
	}
	d.settle(t)
	return s, keeper
}

// lateAt makes a reader for each topic at a process, in a Subscriber of its own, and waits for the histories.
func (s *stage) lateAt(t *testing.T, n *node, p qos.Presentation, topics ...string) *stage {
	late := s.comes(t, n, p, topics...)
	late.finished(t)
	s.d.settle(t)
	return late
}

// all takes what the readers of a Subscriber have, in one access; with "!" if its instance is not alive.
func (s *stage) all(t *testing.T) string {
	t.Helper()
	s.d.settle(t)
	require.NoError(t, s.sub.BeginAccess())
	var out []string
	for _, r := range s.readers {
		var of []string
		for text := takeText(t, r, MaxSamples(1)); text != "no data"; text = takeText(t, r, MaxSamples(1)) {
			sample := text[strings.LastIndexByte(text, ' ')+1:]
			if strings.Contains(text, "NOT_ALIVE") {
				sample += "!"
			}
			of = append(of, sample)
		}
		out = append(out, strings.Join(of, " "))
	}
	require.NoError(t, s.sub.EndAccess())
	return strings.Join(out, " | ")
}

func (s *stage) lost() (n int32) {
	for _, r := range s.readers {
		n += r.SampleLostStatus().TotalCount
	}
	return n
}

var coherentScopes = map[string]qos.Presentation{
	"instance":      present(qos.PresentationInstance, true, false),
	"topic":         present(qos.PresentationTopic, true, true),
	"group":         present(qos.PresentationGroup, true, false),
	"group ordered": present(qos.PresentationGroup, true, true),
}

// A reader that is given a history which is cut in the midst of a set sees the whole set when that ends, and nothing of it
// before; if it ends by the end of its writer, never. A reader that does not ask for sets sees what is there at once.
func TestHistoryIsCutInASet(t *testing.T) {
	for scope, p := range coherentScopes {
		for _, from := range []string{"another process", "its own"} {
			for _, how := range []string{"ends", "fails"} {
				t.Run(scope+", from "+from+", "+how, func(t *testing.T) {
					d := onBus(t)
					s, n := inScope(t, d, p, func(*qos.DataWriter) {}, "A", "B")
					for _, w := range s.writers {
						write(t, w, 1, 1)
					}
					s.begin(t)
					for value := range int32(2) {
						for _, w := range s.writers {
							write(t, w, 1, 2+value)
						}
					}
					if from == "another process" {
						n = d.node(t)
					}
					late := s.lateAt(t, n, p, "A", "B")
					plain := s.lateAt(t, n, present(qos.PresentationInstance, false, false), "A", "B")
					require.Equal(t, "1:1 | 1:1", late.all(t))
					require.Equal(t, "1:1 1:2 1:3 | 1:1 1:2 1:3", plain.all(t))
					for _, w := range s.writers {
						write(t, w, 1, 4)
					}
					require.Equal(t, " | ", late.all(t))
					require.Equal(t, "1:4 | 1:4", plain.all(t))
					if how == "fails" {
						d.crash(s.a)
						require.Equal(t, "-! | -!", late.all(t), "it has no writer")
						require.EqualValues(t, 6, late.lost())
						require.Equal(t, "1:1! | 1:1!", s.lateAt(t, n, p, "A", "B").all(t))
						return
					}
					s.end(t)
					require.Equal(t, "1:2 1:3 1:4 | 1:2 1:3 1:4", late.all(t))
					for _, w := range s.writers {
						write(t, w, 1, 5)
					}
					require.Equal(t, "1:5 | 1:5", late.all(t))
					require.Equal(t, "1:5 | 1:5", plain.all(t))
					require.Zero(t, late.lost()+plain.lost())
					require.Equal(t, "1:1 1:2 1:3 1:4 1:5 | 1:1 1:2 1:3 1:4 1:5", s.lateAt(t, n, p, "A", "B").all(t))
				})
			}
		}
	}
}

// The end of the set comes to a reader before the history does.
func TestSetEndsWhileItsBeginningComes(t *testing.T) {
	for scope, p := range coherentScopes {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := inScope(t, d, p, func(*qos.DataWriter) {}, "A")
			s.readers = append(s.readers, readerOn(t, s.b, s.sub, "A", durableReader(qos.DurabilityTransient)))
			d.settle(t)
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			d.settle(t)
			// The process begins its history anew: what it has is in the state, too.
			arrives := d.bus.awaitsFrom(t, s.b, keeper, s.writers[0])
			late := readerOn(t, s.b, s.sub, "A", durableReader(qos.DurabilityTransient))
			s.readers = append(s.readers, late)
			write(t, s.writers[0], 1, 2)
			s.end(t)
			require.Equal(t, " | ", s.all(t))
			arrives()
			require.Equal(t, "1:1 1:2 | 1:1 1:2", s.all(t))
			require.Zero(t, s.lost())
		})
	}
}

// Of an open set a history keeps no more than of one that has ended: what is replaced, disposed or only registered is missing
// at who is given the part, and keeps nothing back. What became of an instance in the set is seen with it.
func TestHistoryHasGapsInASet(t *testing.T) {
	for scope, p := range coherentScopes {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, keeper := inScope(t, d, p, func(q *qos.DataWriter) {
				q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1}
				q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
			}, "A", "B")
			a, b := s.writers[0], s.writers[1]
			s.readers = append(s.readers, readerOn(t, s.b, s.sub, "A", durableReader(qos.DurabilityTransient)))
			d.settle(t)
			s.begin(t)
			_, err := a.Register(patiently(t), &track{ID: 1})
			require.NoError(t, err)
			_, err = a.Register(patiently(t), &track{ID: 2})
			require.NoError(t, err)
			first := s.lateAt(t, d.node(t), p, "A")
			write(t, a, 1, 1)
			write(t, b, 1, 2)
			write(t, a, 1, 3)
			write(t, a, 2, 4)
			write(t, b, 2, 5)
			require.NoError(t, a.Dispose(patiently(t), &track{ID: 2}))
			write(t, a, 3, 6)
			require.NoError(t, a.Unregister(patiently(t), &track{ID: 3}))
			write(t, b, 1, 7)
			_, err = a.Register(patiently(t), &track{ID: 4})
			require.NoError(t, err)
			late := s.lateAt(t, d.node(t), p, "A", "B")
			s.readers = append(s.readers, readerOn(t, s.b, s.sub, "A", durableReader(qos.DurabilityTransient)))
			own := s.lateAt(t, keeper, p, "A", "B", "A") // and another reader of a topic
			write(t, a, 4, 8)
			write(t, b, 4, 9)
			after := s.lateAt(t, d.node(t), p, "A", "B", "A")
			require.Equal(t, " | ", late.all(t))
			s.end(t)
			write(t, a, 5, 10)
			write(t, b, 5, 11)
			const ofA, ofB = "1:3 3:6! 4:8 5:10", "2:5 1:7 4:9 5:11"
			require.ElementsMatch(t, strings.Fields(ofA+" | "+ofB), strings.Fields(late.all(t)))
			require.ElementsMatch(t, strings.Fields(ofA+" | "+ofB+" | "+ofA), strings.Fields(own.all(t)))
			require.ElementsMatch(t, strings.Fields(ofA+" | "+ofB+" | "+ofA), strings.Fields(after.all(t)))
			require.Equal(t, "1:1 1:3 2:4! 3:6! 4:8 5:10", first.all(t), "nothing was kept yet")
			require.ElementsMatch(t, strings.Fields("1:1 1:3 2:4! 3:6! 4:8 5:10 | "+ofA), strings.Fields(s.all(t)), "beside one that was there")
			require.Zero(t, late.lost()+own.lost()+after.lost()+s.lost()+first.lost())
		})
	}
}

// What became of an instance in a set is seen with it, and not before: also a disposal of what service_cleanup_delay keeps.
func TestHistoryIsCutBehindADisposalInASet(t *testing.T) {
	d := onBus(t)
	p := coherentScopes["topic"]
	s, _ := inScope(t, d, p, func(q *qos.DataWriter) {
		q.DurabilityService.ServiceCleanupDelay = qos.Infinite
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}, "A")
	w := s.writers[0]
	write(t, w, 1, 1)
	write(t, w, 2, 1)
	s.begin(t)
	for id := range int32(4) {
		write(t, w, id, 2)
	}
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
	require.NoError(t, w.Unregister(patiently(t), &track{ID: 2}))
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 3}))
	late := s.lateAt(t, d.node(t), p, "A")
	require.Equal(t, "1:1 2:1", late.all(t))
	s.end(t)
	require.Equal(t, "0:2 1:2! 2:2! 3:2!", late.all(t))
	require.Zero(t, late.lost())
}

// A reader is given a history again, as another writer of its topic matches it now, in the midst of a set: it has what is there
// of that.
func TestHistoryAgainInASet(t *testing.T) {
	for scope, p := range coherentScopes {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, n := inScope(t, d, p, func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false }, "A")
			q := s.pub.Qos()
			q.Partition.Name = []string{"elsewhere"}
			elsewhere, err := s.a.p.NewPublisher(WithPublisherQos(q))
			require.NoError(t, err)
			other := writerOn(t, s.a, elsewhere, "A", durably(qos.DurabilityTransient, keepAll))
			write(t, other, 2, 1)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[0], 3, 1)
			require.NoError(t, s.writers[0].Unregister(patiently(t), &track{ID: 3}))
			here := s.lateAt(t, n, p, "A")
			s.begin(t)
			write(t, s.writers[0], 1, 2)
			d.settle(t)
			late := s.lateAt(t, n, p, "A")
			q.Partition.Name = nil
			require.NoError(t, elsewhere.SetQos(q))
			require.Equal(t, "1:1 3:1! 2:1", late.all(t))
			write(t, s.writers[0], 1, 3)
			s.end(t)
			require.Equal(t, "1:2 1:3", late.all(t))
			require.Equal(t, "1:1 3:1! 2:1 1:2 1:3", here.all(t))
			require.Zero(t, here.lost()+late.lost())
		})
	}
}

// A reader does not match the writer any more, and does again, in the midst of a set: it gets the set whole from the history.
func TestReaderMovesInASet(t *testing.T) {
	for scope, p := range coherentScopes {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			s, n := inScope(t, d, p, func(*qos.DataWriter) {}, "A")
			here := s.lateAt(t, n, p, "A")
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[0], 1, 2)
			d.settle(t)
			q := here.sub.Qos()
			for _, where := range []string{"elsewhere", ""} {
				q.Partition.Name = []string{where}
				require.NoError(t, here.sub.SetQos(q))
				d.settle(t)
			}
			write(t, s.writers[0], 1, 3)
			require.NotContains(t, here.all(t), ":")
			s.end(t)
			require.Equal(t, "1:1 1:2 1:3", here.all(t))
		})
	}
}

// The message behind the cut is missing: the set is not whole.
func TestSetMissesWhatIsBehindTheCut(t *testing.T) {
	d := onBus(t)
	p := coherentScopes["topic"]
	s, _ := inScope(t, d, p, func(*qos.DataWriter) {}, "A")
	s.begin(t)
	write(t, s.writers[0], 1, 1)
	late := s.lateAt(t, d.node(t), p, "A")
	n := d.bus.of(late.b)
	d.bus.mu.Lock()
	d.bus.lose = func(m *derecho.Message, to *busNode) bool { return to == n && m.WriterSeq == 2 }
	d.bus.mu.Unlock()
	write(t, s.writers[0], 1, 2)
	write(t, s.writers[0], 1, 3)
	s.end(t)
	require.Equal(t, "", late.all(t))
	require.EqualValues(t, 2, late.lost())
}

// Whatever a Publisher writes, in and out of sets, and whenever readers come that ask for history: each sees all of it, in its
// order, and of each set all or nothing. The twin is the list of what was written.
func TestLateReadersUnderAnySets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := onBus(t)
		defer func() {
			for _, n := range d.nodes {
				_ = n.p.Close()
			}
		}()
		p := coherentScopes[rapid.SampledFrom([]string{"instance", "topic", "group", "group ordered"}).Draw(rt, "scope")]
		topics := []string{"A", "B"}
		s, keeper := inScope(t, d, p, func(*qos.DataWriter) {}, topics...)
		var readers []*stage
		var got [][]string
		written := make([]string, len(topics)) // by topic, ended with what is to be seen
		pending := make([]string, len(topics))
		open := false
		settle := func() {
			for i, text := range pending {
				written[i] += text
				pending[i] = ""
			}
		}
		look := func(i int) {
			for k, text := range strings.Split(readers[i].all(t), " | ") {
				if text != "" {
					got[i][k] += text + " "
				}
			}
			if !slices.Equal(got[i], written) {
				rt.Fatalf("reader %d sees\n%q of\n%q", i, got[i], written)
			}
		}
		value := int32(0)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			k := rapid.IntRange(0, len(topics)-1).Draw(rt, "topic")
			switch what := rapid.IntRange(0, 9).Draw(rt, "what"); {
			case what == 0 && open:
				s.end(t)
				open = false
				settle()
			case what == 1 && !open:
				s.begin(t)
				open = true
			case what == 2:
				_, err := s.writers[k].Register(patiently(t), &track{ID: value})
				require.NoError(t, err)
			case what <= 4 && len(readers) < 5:
				n := keeper
				if rapid.Bool().Draw(rt, "at another process") {
					n = d.node(t)
				}
				readers = append(readers, s.lateAt(t, n, p, topics...))
				got = append(got, make([]string, len(topics)))
			case what <= 6 && len(readers) > 0:
				look(rapid.IntRange(0, len(readers)-1).Draw(rt, "who looks"))
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
		for i := range readers {
			look(i)
			require.Zero(t, readers[i].lost())
		}
	})
}

// A reader is given a history again while a set that has ended, and is in the history, waits for its part of another topic: the
// history is no reason to show that part before the other, or never.
func TestHistoryAgainWhileASetWaits(t *testing.T) {
	d := onBus(t)
	p := coherentScopes["group"]
	s, _ := inScope(t, d, p, func(*qos.DataWriter) {}, "A", "B")
	q := s.pub.Qos()
	q.Partition.Name = []string{"elsewhere"}
	elsewhere, err := s.a.p.NewPublisher(WithPublisherQos(q))
	require.NoError(t, err)
	other := writerOn(t, s.a, elsewhere, "A", durably(qos.DurabilityTransient, keepAll))
	write(t, other, 2, 1)
	here := s.lateAt(t, s.b, p, "A", "B")
	slow := &delayed{d: d, at: s.b}
	slow.hold(t, s.writers[1].writer)
	s.begin(t)
	write(t, s.writers[0], 1, 1)
	write(t, s.writers[1], 1, 2)
	s.end(t)
	d.settle(t)
	q.Partition.Name = nil
	require.NoError(t, elsewhere.SetQos(q))
	require.Equal(t, "2:1 | ", here.all(t))
	slow.release()
	require.Equal(t, "1:1 | 1:2", here.all(t))
	require.Zero(t, here.lost())
}

// In a Subscriber one reader asks for history, and another does not: that one comes too late for a GROUP set that is open, and
// does not take it from the first, which is given its beginning.
func TestGroupSetBesideAReaderWithoutHistory(t *testing.T) {
	d := onBus(t)
	p := coherentScopes["group"]
	s, _ := inScope(t, d, p, func(*qos.DataWriter) {}, "A", "B")
	s.begin(t)
	write(t, s.writers[0], 1, 1)
	write(t, s.writers[1], 1, 2)
	late := s.lateAt(t, s.b, p, "A")
	late.readers = append(late.readers, readerOn(t, late.b, late.sub, "B", readerQos()))
	d.settle(t)
	write(t, s.writers[0], 1, 3)
	write(t, s.writers[1], 1, 4)
	s.end(t)
	require.Equal(t, "1:1 1:3 | ", late.all(t))
	require.EqualValues(t, 1, late.readers[1].SampleLostStatus().TotalCount)
}

// A process is excluded while a set that has ended waits there for its part of another topic: it sees both when it is back.
func TestExclusionWhileASetWaits(t *testing.T) {
	for _, scope := range []string{"group", "group ordered"} {
		t.Run(scope, func(t *testing.T) {
			d := onBus(t)
			p := coherentScopes[scope]
			s, _ := inScope(t, d, p, func(*qos.DataWriter) {}, "A", "B")
			here := s.lateAt(t, d.node(t), p, "A", "B")
			slow := &delayed{d: d, at: here.b}
			slow.hold(t, s.writers[1].writer)
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[1], 1, 2)
			s.end(t)
			d.settle(t)
			require.Equal(t, " | ", here.all(t))
			d.bus.exclude(here.b)
			slow.release()
			d.bus.rejoin(here.b)
			require.NoError(t, here.b.p.WaitForDomain(patiently(t)))
			here.finished(t)
			require.Equal(t, "1:1 | 1:2", here.all(t))
			require.Zero(t, here.lost())
		})
	}
}
