package dcps

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// The domain goes on without a process in the midst of a coherent set, that of a reader and then that of the writer: whoever
// is to see the set, also later, sees all of it or nothing.
func TestCoreSetAroundAnExclusion(t *testing.T) {
	t.Setenv("DCPS_TEST_IN_SETS", "1") // for the attendants
	for name, dir := range map[string]string{"transient local": "", "persistent": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			d := onCore(t, Settings{Lease: testLease, Dir: dir})
			// These are there first: who is excluded is told of endpoints in the order in which they came.
			stopped, stays := d.attendant(t), d.attendant(t)
			n := d.node(t, WithName("test"))
			pubQos, subQos := qos.DefaultPublisher(), qos.DefaultSubscriber()
			pubQos.Presentation = present(qos.PresentationTopic, true, false)
			subQos.Presentation = pubQos.Presentation
			pub, err := n.p.NewPublisher(WithPublisherQos(pubQos))
			require.NoError(t, err)
			sub, err := n.p.NewSubscriber(WithSubscriberQos(subQos))
			require.NoError(t, err)
			w := writerOn(t, n, pub, "Track", storedWriterQos(dir))
			r := readerOn(t, n, sub, "Track", storedReaderQos(dir))
			require.NoError(t, w.WaitForMatch(patiently(t), 3))
			for _, a := range []*attendant{stopped, stays} {
				require.Equal(t, "match", a.do("match 3"))
			}
			excluded := func() {
				stopped.do("views")
				stopped.signal(syscall.SIGSTOP)
				require.NoError(t, r.await(untilMissed(t), "test", func() bool { return r.matched.CurrentCount == 2 }))
			}
			back := func() {
				stopped.signal(syscall.SIGCONT)
				require.Equal(t, "rejoined", stopped.do("rejoined"))
				require.NoError(t, r.await(patiently(t), "test", func() bool { return r.matched.CurrentCount == 3 }))
			}

			require.NoError(t, pub.BeginCoherentChanges())
			write(t, w, 1, 1)
			require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
			excluded()
			write(t, w, 2, 2)
			require.NoError(t, pub.EndCoherentChanges(patiently(t)))
			require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
			back()
			require.Equal(t, "take 1:1 2:2", stopped.do("take 2"))
			require.Equal(t, "1:1 2:2", values(t, r, 2))

			require.Equal(t, "<nil>", stopped.do("begin"))
			require.Equal(t, "<nil>", stopped.do("put 3 3"))
			require.Equal(t, "<nil>", stopped.do("acks"))
			excluded()
			back()
			require.Equal(t, "<nil>", stopped.do("put 4 4"))
			told := stopped.do("end")
			require.Contains(t, told, "the coherent set is lost")
			require.Contains(t, told, derecho.ErrExcluded.Error())
			require.Equal(t, "<nil>", stopped.do("begin"))
			require.Equal(t, "<nil>", stopped.do("put 5 5"))
			require.Equal(t, "<nil>", stopped.do("end"))
			require.Equal(t, "5:5", values(t, r, 1))
			require.EqualValues(t, 2, r.SampleLostStatus().TotalCount)
			late := readerOn(t, n, sub, "Track", storedReaderQos(dir))
			require.Equal(t, "1:1 2:2 5:5", values(t, late, 3))
		})
	}
}
