package dcps

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
	"github.com/stretchr/testify/require"
)

func keepAll(q *qos.DataWriter) { q.History = qos.History{Kind: qos.HistoryKeepAll, Depth: 1} }

func living(d time.Duration) func(*qos.DataWriter) {
	return func(q *qos.DataWriter) { q.Lifespan.Duration = d }
}

// kept is how many samples a node keeps of a writer's topic.
func kept(t *testing.T, n *node, w *DataWriter[track]) (count int) {
	t.Helper()
	synctest.Wait()
	require.NoError(t, n.p.core.Upcall(patiently(t), func() { count = n.p.hub.channels[w.at].history.count }))
	return count
}

// A sample that has expired takes no room that RESOURCE_LIMITS leave a writer.
//
// Clauses: 2.2.3.16, 2.2.3.19
func TestDDS14_2_2_3_16_ExpiredSamplesTakeNoRoomOfAWriter(t *testing.T) {
	for name, limit := range map[string]func(*qos.DataWriter){
		"max_samples":                     func(q *qos.DataWriter) { keepAll(q); q.ResourceLimits.MaxSamples = 3 },
		"max_samples_per_instance":        func(q *qos.DataWriter) { keepAll(q); q.ResourceLimits.MaxSamplesPerInstance = 2 },
		"max_samples with KEEP_LAST":      func(q *qos.DataWriter) { q.History.Depth, q.ResourceLimits.MaxSamples = 2, 3 },
		"max_samples with KEEP_LAST of 1": func(q *qos.DataWriter) { q.ResourceLimits.MaxSamples = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T, d *domain) {
				w := d.node(t).writer(t, durably(qos.DurabilityTransientLocal, limit, living(time.Second)))
				id := func(n int) int32 { return int32(n / 2) }
				if name == "max_samples_per_instance" {
					id = func(int) int32 { return 0 }
				}
				// fill writes until the writer is full.
				fill := func() (n int) {
					for ; n < 9; n++ {
						if err := w.Write(patiently(t), &track{ID: id(n)}); err != nil {
							require.ErrorIs(t, err, ErrOutOfResources)
							break
						}
					}
					return n
				}
				first := fill()
				pass(time.Second - 1)
				require.ErrorIs(t, w.Write(patiently(t), &track{ID: id(first)}), ErrOutOfResources)
				for range 3 {
					pass(time.Second)
					require.Equal(t, first, fill())
				}
				pass(time.Second)
				require.NoError(t, w.Write(patiently(t), &track{ID: 5}, At(time.Now().Add(-time.Hour))), "over as it comes")
				l, err := w.Loan(patiently(t), 100, At(time.Now().Add(-time.Hour)))
				require.NoError(t, err)
				encoded, err := cdr.Marshal(&track{ID: 5}, w.untyped().enc)
				require.NoError(t, err)
				require.NoError(t, l.Publish(copy(l.Bytes(), encoded)))
				require.NoError(t, w.Dispose(patiently(t), &track{ID: 5}))
				require.Equal(t, first, fill())
				q := w.Qos()
				q.Lifespan.Duration = qos.Infinite
				require.NoError(t, w.SetQos(q))
				pass(time.Hour)
				require.ErrorIs(t, w.Write(patiently(t), &track{ID: id(first)}), ErrOutOfResources)
			})
		})
	}
}

// A writer whose samples expire while others of it are under way, some of which fail, counts none as held that is not.
func TestWriterInstancesExpire(t *testing.T) {
	d := onBus(t)
	w := d.node(t).writer(t, writerQos())
	q := durably(qos.DurabilityTransientLocal, keepAll, living(time.Second), func(q *qos.DataWriter) { q.ResourceLimits.MaxSamples = 3 })
	s := newWriterInstances(q, topic.Stored, w.topic.support)
	note := func(id int32) (noted, error) { return s.note(w.writer, "Write", &track{ID: id}, nil, 1) }
	old := time.Now().Add(-time.Hour).UnixNano()
	var all []noted
	for range 3 {
		n, err := note(1)
		require.NoError(t, err)
		all = append(all, n)
	}
	_, err := note(2)
	require.ErrorIs(t, err, ErrOutOfResources, "nothing was written yet")
	all[0].stamp, all[1].stamp = old, now()
	s.wrote(w.writer, all[0])
	s.wrote(w.writer, all[1])
	_, err = note(2)
	require.NoError(t, err, "one has expired")
	_, err = note(2)
	require.ErrorIs(t, err, ErrOutOfResources)
	s.unwrote(all[2])
	require.Equal(t, 2, s.samples)
	s.forget(&track{ID: 1}, false)
	require.Equal(t, 1, s.samples)
	require.Zero(t, s.expiries.next())
}

// A sample that has expired takes neither memory nor the room of DURABILITY_SERVICE: those of before a set that is open count
// until they expire, the set from when it ends.
//
// Clauses: 2.2.3.16, 2.2.3.5
func TestDDS14_2_2_3_16_ExpiredSamplesAreNotKept(t *testing.T) {
	for _, kind := range []qos.DurabilityKind{qos.DurabilityTransientLocal, qos.DurabilityTransient} {
		virtually(t, func(t *testing.T, d *domain) {
			a, b := d.node(t), d.node(t)
			b.reader(t, durableReader(kind))
			w := a.writer(t, durably(kind, keepAll, living(time.Minute)))
			for i := range int32(100) {
				write(t, w, i%3, i)
				pass(20 * time.Second)
			}
			require.Equal(t, 3, kept(t, a, w))
			require.Equal(t, 3, kept(t, b, w))
			require.Equal(t, 3, len(b.p.hub.channels[w.at].history.instances))
			require.NoError(t, w.Write(patiently(t), &track{ID: 1}, At(time.Now().Add(-time.Hour))))
			require.Equal(t, 3, kept(t, b, w), "it is over as it comes")
			pass(time.Hour)
			write(t, w, 4, 1)
			require.Equal(t, 1, kept(t, b, w))
			require.Equal(t, 1, len(b.p.hub.channels[w.at].history.instances))
		})
	}
	virtually(t, func(t *testing.T, d *domain) {
		w := d.node(t).writer(t, durably(qos.DurabilityTransient, living(time.Minute), func(q *qos.DataWriter) {
			q.DurabilityService.MaxSamples, q.DurabilityService.MaxInstances = 3, 2
		}))
		d.node(t).reader(t, durableReader(qos.DurabilityTransient))
		write(t, w, 1, 1)
		write(t, w, 2, 1)
		write(t, w, 3, 1)
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:1\n[NOT_READ NEW ALIVE d=0 n=0] 2:1", late(t, d, qos.DurabilityTransient))
		pass(time.Hour)
		write(t, w, 3, 1)
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 3:1", late(t, d, qos.DurabilityTransient))
	})
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationTopic, true, false))
		w := writerOn(t, s.a, s.pub, "Track", durably(qos.DurabilityTransient, living(time.Minute)))
		readerOn(t, s.b, s.sub, "Track", durableReader(qos.DurabilityTransient))
		write(t, w, 1, 1)
		write(t, w, 2, 1)
		s.begin(t)
		write(t, w, 1, 2)
		write(t, w, 2, 2)
		pass(time.Hour)
		write(t, w, 3, 2)
		require.Equal(t, 3, kept(t, s.b, w), "what is of the set")
		s.end(t)
		write(t, w, 4, 1)
		require.Equal(t, 2, kept(t, s.b, w))
	})
}

// A LIFESPAN that changes is that of what is kept already, as it is for who is given it.
func TestLifespanOfWhatIsKeptChanges(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		b.reader(t, durableReader(qos.DurabilityTransientLocal))
		w := a.writer(t, durably(qos.DurabilityTransientLocal))
		change := func(lifespan time.Duration) {
			q := w.Qos()
			q.Lifespan.Duration = lifespan
			require.NoError(t, w.SetQos(q))
		}
		write(t, w, 1, 1)
		change(time.Minute)
		pass(time.Minute - 1)
		change(time.Hour)
		pass(time.Minute)
		write(t, w, 2, 1)
		require.Equal(t, 2, kept(t, b, w))
		change(time.Minute)
		write(t, w, 3, 1)
		require.Equal(t, 2, kept(t, b, w))
		pass(time.Hour)
		change(qos.Infinite)
		write(t, w, 4, 1)
		require.Equal(t, 3, kept(t, b, w))
	})
}

// What has expired is forgotten at the same message by all: who has it all along, who took over the state, and who reads it in a
// log; and what is left of a disposed instance is forgotten when it would be without.
func TestReplicasForgetTheSame(t *testing.T) {
	ann := announced()[0]
	ann.writer.Durability.Kind = qos.DurabilityTransient
	ann.writer.History.Depth = 3
	ann.writer.DurabilityService.ServiceCleanupDelay = 20
	mortal := *ann
	mortal.writer.Lifespan.Duration = 10
	long := &endpoint{key: endpointKey{1, 1}, info: ann.encode(), ann: ann}
	short := &endpoint{key: endpointKey{2, 1}, info: mortal.encode(), ann: &mortal}
	seq := uint64(0)
	send := func(w *endpoint, kind derecho.Kind, instance int32, at int64) func(*store) {
		seq++
		m := &derecho.Message{Header: derecho.Header{Kind: kind, WriterSeq: seq, Timestamp: at}, Seq: seq, Epoch: 1, Payload: []byte{byte(seq)}}
		return func(s *store) { s.add(w, m, instanceHandle(instance)) }
	}
	messages := []func(*store){
		send(short, kindData, 1, 0), send(short, kindData, 1, 5), send(short, kindData, 1, 2),
		send(long, kindData, 2, 6), send(short, kindData, 2, 6),
		send(long, kindData, 3, 9),                                        // the clock goes on, and nothing of it is kept:
		send(long, kindDispose, 3, 11),                                    // one has expired
		send(short, kindData, 3, 1),                                       // it has, too
		send(long, kindDispose, 2, 12), send(long, kindUnregister, 2, 13), // short still has it
		send(long, kindData, 1, 13), send(long, kindData, 4, 16), // and now not
		send(long, kindData, 4, 35), send(long, kindData, 4, 37),
	}
	counts := []int{1, 2, 3, 4, 5, 6, 5, 5, 4, 4, 5, 4, 5, 5}
	all := newStore()
	for cut := range messages {
		taken, err := loadStore(all.save())
		require.NoError(t, err)
		replayed := newStore()
		for _, m := range messages[:cut] {
			m(replayed)
		}
		for _, m := range messages[cut:] {
			m(taken)
			m(replayed)
		}
		messages[cut](all)
		require.Equal(t, counts[cut], all.count, "after message %d", cut)
		if cut == len(messages)-1 {
			require.Equal(t, all.save(), replayed.save())
		}
		ends := newStore()
		for _, m := range messages {
			m(ends)
		}
		require.Equal(t, ends.save(), taken.save(), "who took it over before message %d", cut)
	}
}
