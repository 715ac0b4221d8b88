package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the tests of times print rests on this arithmetic, and no process is needed to check it.

// deliveriesAt are those at one reader: when each sample was written, and when it was handed over.
func deliveriesAt(at ...[2]int64) (ds []delivery) {
	for _, a := range at {
		ds = append(ds, delivery{sent: a[0], received: a[1]})
	}
	return ds
}

func TestLongestGap(t *testing.T) {
	for _, c := range []struct {
		name            string
		ds              []delivery
		long, unwritten time.Duration
		end             int64
	}{
		{"nothing was handed over, nor written", nil, 100, 100, 200},
		{"between two, the second written late", deliveriesAt([2]int64{108, 110}, [2]int64{149, 150}, [2]int64{158, 160}, [2]int64{189, 190}), 40, 39, 150},
		{"before the first", deliveriesAt([2]int64{120, 155}, [2]int64{155, 156}, [2]int64{170, 180}), 55, 20, 155},
		{"after the last", deliveriesAt([2]int64{109, 110}, [2]int64{129, 130}), 70, 70, 200},
		{"what came before does not count, and does not begin it", deliveriesAt([2]int64{80, 90}, [2]int64{140, 145}, [2]int64{150, 150}), 50, 50, 200},
		{"what came after ends it no later", deliveriesAt([2]int64{112, 250}), 100, 12, 200},
		{"what was written after does not count as written late", deliveriesAt([2]int64{240, 250}), 100, 100, 200},
		{"written before it began", deliveriesAt([2]int64{90, 170}, [2]int64{171, 172}), 70, 0, 170},
		{"a sample behind the next one was written first", deliveriesAt([2]int64{165, 170}, [2]int64{110, 171}), 70, 10, 170},
		{"of two that are as long, the first", deliveriesAt([2]int64{149, 150}), 50, 49, 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := longestGap(c.ds, 100, 200)
			require.Equal(t, c.long, g.long)
			require.Equal(t, c.unwritten, g.unwritten)
			require.Equal(t, c.end, g.end.UnixNano())
		})
	}
}

func TestGapQueue(t *testing.T) {
	for _, c := range []struct {
		name     string
		qs       []queueing
		one, all time.Duration
	}{
		{"none", nil, 0, 0},
		{"within", []queueing{{120, 150, 10, 25}}, 10, 25},
		{"before and after", []queueing{{50, 100, 40, 40}, {200, 250, 40, 40}}, 0, 0},
		{"one thread waits no longer than both have in common", []queueing{{50, 130, 70, 75}}, 30, 75},
		{"at the end, too", []queueing{{180, 300, 90, 95}}, 20, 95},
		{"the longest of one thread, the sum of all", []queueing{{100, 120, 15, 18}, {130, 160, 25, 28}, {170, 190, 5, 7}}, 25, 53},
		{"all together no longer than the gap", []queueing{{100, 150, 40, 80}, {150, 200, 45, 90}}, 45, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gap{long: 100, end: time.Unix(0, 200)}
			g.queue(c.qs)
			require.Equal(t, c.one, g.one)
			require.Equal(t, c.all, g.all)
		})
	}
}

func TestPauses(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	long, short, brief := gap{long: ms(4), unwritten: ms(1), one: ms(2), all: ms(3)}, gap{long: ms(2), unwritten: ms(0.5), one: ms(1), all: ms(1.5)}, gap{long: ms(0.5), unwritten: ms(0.5)}
	require.Equal(t, long, worst([]gap{short, long, brief}))
	require.Zero(t, worst(nil))
	require.Equal(t, "median 500µs, worst 500µs of 1", pauses{brief}.String())
	require.Equal(t, "median 2ms, worst 4ms of 3 (2 over 1ms; for 25 % of these nobody had written what came next, for 50 % at least and 75 % at most a thread waited for a processor)",
		pauses{long, brief, short}.String(), "shares of the time that is over the aim, not of the number")
	require.Equal(t, "none", times(nil).String())
	require.Equal(t, "median 30µs, worst 90µs of 4", times{90_000, 10_000, 30_000, 20_000}.String(), "of an even number the upper one")
}
