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

func TestLongestStop(t *testing.T) {
	s := stops{seen: []stop{{100, 110}, {150, 190}, {300, 400}}}
	for _, c := range []struct {
		from, to int64
		want     time.Duration
	}{{0, 100, 0}, {0, 105, 5}, {90, 200, 40}, {160, 200, 30}, {200, 300, 0}, {350, 360, 10}, {0, 500, 100}} {
		require.Equal(t, c.want, s.longest(c.from, c.to), "%d to %d", c.from, c.to)
	}

	g := gap{long: 60, end: time.Unix(0, 200)}
	s.explain(&g, time.Unix(0, 0), time.Unix(0, 350))
	require.Equal(t, gap{long: 60, end: time.Unix(0, 200), stop: 40, stopAround: 50, watched: true}, g)
	var nobody *stops
	nobody.explain(&g, time.Unix(0, 0), time.Unix(0, 350))
	require.False(t, g.watched)
}

func TestPauses(t *testing.T) {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	long, short, brief := gap{long: ms(4), unwritten: ms(1)}, gap{long: ms(2), unwritten: ms(0.5)}, gap{long: ms(0.5), unwritten: ms(0.5)}
	require.Equal(t, long, worst([]gap{short, long, brief}))
	require.Zero(t, worst(nil))
	require.Equal(t, "median 500µs, worst 500µs of 1", pauses{brief}.String())
	require.Equal(t, "median 2ms, worst 4ms of 3 (2 over 1ms: for 25 % of their time nobody had written what came next)",
		pauses{long, brief, short}.String(), "the share of the time that is over the aim, not of the number")
	long.watched, long.stop, long.stopAround = true, ms(3), ms(3)
	short.watched, short.stopAround = true, ms(0.2)
	brief.watched, brief.stopAround = true, ms(0.3)
	require.Equal(t, "median 2ms, worst 4ms of 3 (2 over 1ms: for 25 % of their time nobody had written what came next; 1 of them while a processor of this machine stood still, in the worst for 3ms); where none stood still for 250µs: median 2ms, worst 2ms of 1, 1 over 1ms",
		pauses{long, brief, short}.String())
	require.Equal(t, "none", times(nil).String())
	require.Equal(t, "median 30µs, worst 90µs of 4", times{90_000, 10_000, 30_000, 20_000}.String(), "of an even number the upper one")
}
