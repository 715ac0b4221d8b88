package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

// stockTopic has a history of as many samples as the test says.
const stockTopic = "Stock"

// stock writes samples of so many instances, all of which are kept.
func (c *child) stock(samples, instances int) error {
	topic, err := dcps.NewTopic[Note](c.p, stockTopic)
	if err != nil {
		return err
	}
	q := qos.DefaultDataWriter()
	q.Durability.Kind, q.History.Kind, q.Reliability.MaxBlockingTime = qos.DurabilityTransientLocal, qos.HistoryKeepAll, patience
	w, err := dcps.NewDataWriter(c.pub, topic, dcps.WithWriterQos(q))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range samples {
		if err := w.Write(ctx, &Note{Writer: strconv.Itoa(i % instances), Number: uint64(i)}); err != nil {
			return err
		}
	}
	return nil
}

// draw has a reader given all of it, and tells how long that took; then it takes what it was given, and tells how much that is.
func (c *child) draw() (string, error) {
	topic, err := dcps.NewTopic[Note](c.p, stockTopic)
	if err != nil {
		return "", err
	}
	q := qos.DefaultDataReader()
	q.Reliability.Kind, q.Durability.Kind, q.History.Kind = qos.ReliabilityReliable, qos.DurabilityTransientLocal, qos.HistoryKeepAll
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	begun := time.Now()
	r, err := dcps.NewDataReader(c.sub, topic, dcps.WithReaderQos(q))
	if err != nil {
		return "", err
	}
	if err := r.WaitForHistoricalData(ctx); err != nil {
		return "", err
	}
	took := time.Since(begun)
	had := make(map[uint64]bool)
	for s, err := r.Take(); ; s, err = r.Take() {
		if err != nil { // there is no more
			return fmt.Sprint(took.Nanoseconds(), " ", len(had)), nil
		}
		for _, sample := range s.All() {
			if note := sample.Data(); note != nil {
				had[note.Number] = true
			}
		}
		s.Close()
	}
}

// A reader comes to a topic of which very many samples are kept: to a process that has none of them, and another one to the same
// process, which has them by then. Nobody is excluded meanwhile, and what others are handed of another topic goes on.
func TestTimeOfLargeJoin(t *testing.T) {
	for _, instances := range []int{1, 1 << 30} {
		name := "one instance"
		if instances > 1 {
			name = "an instance for each"
		}
		t.Run(name, func(t *testing.T) {
			brief(t, "shm")
			kept := *flagStock
			f := newFleet(t, rand.Uint32()>>1, "DDS_TRANSPORT=shm", usualLease())
			f.stops = watchProcessors(t)
			var all []*process
			for _, name := range []string{"giver", "joiner", "bystander"} {
				p := f.spawn(name, nil)
				f.joined(p)
				f.enter(p, atomicTopic, 1, 1)
				all = append(all, p)
			}
			giver, joiner := all[0], all[1]
			f.settle(atomicTopic)
			f.ask(giver, "stock %d %d", kept, min(kept, instances))
			f.ask(giver, "collect")
			f.askAll("write %d 16", pace)
			f.pass(time.Second)
			f.gaps(atomicTopic, time.Now(), time.Now(), all...)
			look := func(what string, do func() string) string {
				from := time.Now()
				said := do()
				until := time.Now()
				text := ""
				for i, gs := range f.gapsOf(atomicTopic, from, until, all...) {
					text += fmt.Sprintf(", %s %v", all[i].name, worst(gs).long.Round(10*time.Microsecond))
				}
				return fmt.Sprintf("\n  %s%s%s", what, said, text)
			}
			draw := func() string {
				words := strings.Fields(f.ask(joiner, "draw"))
				require.Equal(t, strconv.Itoa(kept), words[1])
				took, err := strconv.ParseInt(words[0], 10, 64)
				require.NoError(t, err)
				return fmt.Sprint(time.Duration(took).Round(time.Millisecond))
			}
			text := look("nothing else happens", func() string {
				f.pass(time.Second)
				return ""
			})
			text += look("a reader comes to a process that has none of it, and is given all in ", draw)
			text += look("another one to the same process, in ", draw)
			for _, p := range f.running {
				require.Empty(t, f.ask(p, "trouble"), "%s", p.name)
			}
			t.Logf("%d samples are kept of a topic, %s; of another one each of 3 processes writes a sample every %v, and all read them: the longest time that they are handed nothing of that:%s\n  %s",
				kept, name, pace, text, machine())
			f.end()
		})
	}
}
