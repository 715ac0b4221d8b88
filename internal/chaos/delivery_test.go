package chaos

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// delivery is one sample that one reader was handed: a line of a record.
type delivery struct {
	topic, reader string
	epoch         uint32
	seq           uint64
	handle        string // of the writer: another one after its process was excluded and came back
	generation    int32  // rises when the instance comes back after all its writers were gone
	fresh         bool   // the instance is new to the reader
	writer        string
	number        uint64
	last          bool
	sent          int64 // ns since the Unix epoch
	received      int64 // when the process was handed it
}

func (d delivery) String() string {
	return fmt.Sprintf("%s #%d (at %d:%d)", d.writer, d.number, d.epoch, d.seq)
}

func (d delivery) append(b []byte) []byte {
	bit := func(v bool) byte {
		if v {
			return '1'
		}
		return '0'
	}
	b = append(b, "D "...)
	b = append(append(b, d.topic...), ' ')
	b = append(append(b, d.reader...), ' ')
	b = append(strconv.AppendUint(b, uint64(d.epoch), 10), ' ')
	b = append(strconv.AppendUint(b, d.seq, 10), ' ')
	b = append(append(b, d.handle...), ' ')
	b = append(strconv.AppendInt(b, int64(d.generation), 10), ' ', bit(d.fresh), ' ')
	b = append(append(b, d.writer...), ' ')
	b = append(strconv.AppendUint(b, d.number, 10), ' ', bit(d.last), ' ')
	b = append(strconv.AppendInt(b, d.sent, 10), ' ')
	return append(strconv.AppendInt(b, d.received, 10), '\n')
}

// ack says that a writer was told that its samples up to number have arrived, and, of the logged topic, that they are durable.
type ack struct {
	topic, writer string
	number        uint64
	sent          int64 // ns, before that sample was written
	at            int64
}

// told is what a process put down.
type told struct {
	deliveries []delivery
	acks       []ack
	begun      map[string]int64 // when a reader was there: what others write from then on reaches it
	exclusions []int64          // when the process learned that it was excluded: what it was handed later is of after that
	rejoins    []int64          // when its readers were there again
	errors     []string         // because it was excluded, or isolated
	failures   []string         // all others
}

// readRecord reads a record; the last line of a process that was killed may be torn.
func readRecord(path string) (told, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return told{}, nil // it did not come to it
	}
	if err != nil {
		return told{}, err
	}
	defer f.Close()
	t := told{begun: map[string]int64{}}
	names := map[string]string{} // each string once, however often it is there
	intern := func(s string) string {
		if n, ok := names[s]; ok {
			return n
		}
		s = strings.Clone(s)
		names[s] = s
		return s
	}
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return t, nil // without its end it is torn
		}
		w := strings.Fields(line)
		n := func(i int) int64 { v, _ := strconv.ParseInt(w[i], 10, 64); return v }
		switch {
		case w[0] == "D" && len(w) == 13:
			t.deliveries = append(t.deliveries, delivery{
				topic: intern(w[1]), reader: intern(w[2]), epoch: uint32(n(3)), seq: uint64(n(4)), handle: intern(w[5]),
				generation: int32(n(6)), fresh: w[7] == "1", writer: intern(w[8]), number: uint64(n(9)), last: w[10] == "1",
				sent: n(11), received: n(12),
			})
		case w[0] == "A" && len(w) == 6:
			t.acks = append(t.acks, ack{intern(w[1]), intern(w[2]), uint64(n(3)), n(4), n(5)})
		case w[0] == "B" && len(w) == 3:
			t.begun[w[1]] = n(2)
		case w[0] == "R" && len(w) == 2:
			t.rejoins = append(t.rejoins, n(1))
		case w[0] == "X" && len(w) == 2:
			t.exclusions = append(t.exclusions, n(1))
		case w[0] == "E":
			t.errors = append(t.errors, strings.TrimSpace(line[2:]))
		case w[0] == "F":
			t.failures = append(t.failures, strings.TrimSpace(line[2:]))
		default:
			return t, fmt.Errorf("%s: line %q", path, line)
		}
	}
}
