package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/internal/bench"
	"golang.org/x/sys/unix"
)

// burster is a lane whose ends can be driven apart.
type burster interface {
	lane
	// write sends a sample.
	write(ctx context.Context) error
	// await returns when the receiver has had all n samples that were written since it was called last.
	await(ctx context.Context, n int) error
}

// What one burst writes has room in the ring, so that nobody waits.
const (
	burstSamples = 256
	burstBytes   = 1 << 19
)

func threadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // it has no other error than a wrong argument
	}
	return time.Duration(t.Nano())
}

// bursts are the processor times of the writing thread for one sample, in ns, ascending.
type bursts []float64

// add measures n calls of f.
func (b *bursts) add(n int, f func() error) error {
	start := threadCPU()
	for range n {
		if err := f(); err != nil {
			return err
		}
	}
	*b = append(*b, float64(threadCPU()-start)/float64(n))
	return nil
}

// least is what nine of ten bursts exceed: what the thread takes when nothing else of the machine is in its way.
func (b bursts) least() float64 {
	slices.Sort(b)
	return b[len(b)/10]
}

// compareBursts measures what the writing thread does for a sample, and prints a line: building one in private memory,
// and building and sending one through the core and with DDS, burst by burst in turns.
func compareBursts(ctx context.Context, s shape, n int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	core, err := newCoreLane(ctx, rand.Uint32(), s)
	if err != nil {
		return err
	}
	defer core.close()
	over, err := newDDSLane(ctx, rand.Uint32(), s)
	if err != nil {
		return err
	}
	defer over.close()
	dds := over.(burster)
	samples := min(burstSamples, max(1, burstBytes/s.room()))
	room, payload, value, stream := make([]byte, s.room()), s.payload(), new(bench.Sample), new(cdr.Stream)
	var ofBuild, ofCore, ofDDS bursts
	for range n {
		build := func() (err error) {
			if s.writes {
				unkeyed.set(value, 0, 0, payload)
				_, err = cdr.MarshalTo(room, value, cdr.CDR2LE)
				return err
			}
			_, err = unkeyed.build(stream, room, 0, 0, payload)
			return err
		}
		if err := ofBuild.add(samples, build); err != nil {
			return err
		}
		for _, side := range []struct {
			burster
			times *bursts
		}{{core, &ofCore}, {dds, &ofDDS}} {
			if err := side.times.add(samples, func() error { return side.write(ctx) }); err != nil {
				return err
			}
			if err := side.await(ctx, samples); err != nil {
				return err
			}
		}
	}
	fmt.Printf("| %v | %.0f | %.0f | %.0f | %.0f |\n", s, ofBuild.least(), ofCore.least(), ofDDS.least(), ofDDS.least()-ofCore.least())
	return nil
}
