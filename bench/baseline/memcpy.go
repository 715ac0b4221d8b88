package main

import (
	"fmt"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// memcpy copies on one core: between two buffers that stay in the cache, and from one buffer to the next place of a large ring.
func memcpy(o options) ([]result.Result, error) {
	var results []result.Result
	for _, size := range o.sizes(128, 1<<10, 10<<10, 1<<20) {
		results = append(results, copyInto(size, size, o.duration), copyInto(size, 64<<20, o.duration))
	}
	return results, nil
}

func copyInto(size, ring int, d time.Duration) result.Result {
	from, to := make([]byte, size), make([]byte, ring)
	for i := range from {
		from[i] = byte(i)
	}
	for i := range to {
		to[i] = 1 // its pages exist before it is timed
	}
	const batch = 64 // a look at the clock costs as much as a small copy
	count, at := int64(0), 0
	start := time.Now()
	for time.Since(start) < d {
		for range batch {
			if at+size > ring {
				at = 0
			}
			copy(to[at:at+size], from)
			at += size
		}
		count += batch
	}
	r := result.Result{Size: size, What: fmt.Sprintf("copy into %d KiB, one after the other, from one buffer", max(ring>>10, 1))}
	if ring == size {
		r.What = "copy between the same two buffers"
	}
	r.SetThroughput(count, time.Since(start))
	return r
}
