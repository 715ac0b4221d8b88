package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"golang.org/x/sys/unix"
)

// header is the part of a sample that is not payload.
const header = 40

// shape is what is measured.
type shape struct {
	size      int // of the encoded sample
	instances int // 0: without key
	filter    bool
	polls     bool // the reader takes again and again, and does not wait
	writes    bool // the sample is a value that is encoded (DataWriter.Write), and not built in place (DataWriter.Loan)
}

func (s shape) String() string {
	text := fmt.Sprintf("%d B, ", s.size)
	if s.instances == 0 {
		text += "no key"
	} else {
		text += fmt.Sprintf("%d instances", s.instances)
	}
	if s.filter {
		text += ", filter"
	}
	if s.writes {
		text += ", written"
	}
	if s.polls {
		text += ", takes without waiting"
	}
	return text
}

// room is what a sample takes at most: with its encapsulation header, and padding.
func (s shape) room() int { return cdr.HeaderSize + s.size + 4 }

func (s shape) payload() []byte { return make([]byte, max(1, s.size-header)) }

// lane carries samples from one node to another.
type lane interface {
	// send carries n samples, and returns when the receiver has had them.
	send(ctx context.Context, n int) error
	close() error
}

// round is what carrying some samples took.
type round struct{ rate, cpu, allocs float64 } // samples a second, ns and allocations for one

func measure(ctx context.Context, l lane, n int) (round, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used, start := cpu(), time.Now()
	if err := l.send(ctx, n); err != nil {
		return round{}, err
	}
	took, used := time.Since(start), cpu()-used
	runtime.ReadMemStats(&after)
	of := float64(n)
	return round{of / took.Seconds(), float64(used) / of, float64(after.Mallocs-before.Mallocs) / of}, nil
}

// cpu is the processor time of the process.
func cpu() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no other error than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(rounds []round, of func(round) float64) float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// compare measures both in turns and prints a line.
func compare(ctx context.Context, s shape, rounds, n int) error {
	core, err := newCoreLane(ctx, rand.Uint32(), s)
	if err != nil {
		return err
	}
	defer core.close()
	dds, err := newDDSLane(ctx, rand.Uint32(), s)
	if err != nil {
		return err
	}
	defer dds.close()
	var ofCore, ofDDS []round
	var shares []float64
	for i := range rounds + 1 {
		n := n
		if i == 0 {
			n = max(n, s.instances) // instances come into being, memory is touched
		}
		c, err := measure(ctx, core, n)
		if err != nil {
			return fmt.Errorf("core: %w", err)
		}
		d, err := measure(ctx, dds, n)
		if err != nil {
			return fmt.Errorf("dds: %w", err)
		}
		if i == 0 {
			continue
		}
		ofCore, ofDDS, shares = append(ofCore, c), append(ofDDS, d), append(shares, 100*d.rate/c.rate)
	}
	slices.Sort(shares)
	rate := func(r round) float64 { return r.rate }
	used := func(r round) float64 { return r.cpu }
	fmt.Printf("| %v | %.0f k | %.0f k | %.0f | %.0f | %.0f %% (%.0f..%.0f) | %.2f |\n", s, median(ofCore, rate)/1e3, median(ofDDS, rate)/1e3,
		median(ofCore, used), median(ofDDS, used), shares[len(shares)/2], shares[0], shares[len(shares)-1],
		median(ofDDS, func(r round) float64 { return r.allocs }))
	return nil
}

func numbers(list string) (out []int, err error) {
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("%q is no list of numbers", list)
		}
		out = append(out, n)
	}
	return out, nil
}

func run() error {
	sizes := flag.String("sizes", "128,1024,10240", "bytes of the encoded samples")
	instances := flag.String("instances", "0,1,100,10000", "numbers of instances; 0 is a topic without key")
	filters := flag.String("filters", "false,true", "without and with a content filter")
	polls := flag.String("polls", "false", "whether readers take again and again (true) or wait for samples (false), or both")
	writes := flag.String("writes", "false", "whether samples are values that are encoded (true) or are built in place (false), or both")
	rounds := flag.Int("rounds", 5, "rounds, of which the medians are printed")
	inBursts := flag.Int("bursts", 0, "measure the writing thread alone, in so many bursts (3000 are good); 0: both ends")
	n := flag.Int("n", 200_000, "samples of 128 bytes in a round; fewer of larger ones")
	profile := flag.String("cpuprofile", "", "write a profile of everything to this file")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	s, err := numbers(*sizes)
	if err != nil {
		return err
	}
	of, err := numbers(*instances)
	if err != nil {
		return err
	}
	if s[0] < header || *rounds < 1 || *n < 1 || *inBursts < 0 {
		return fmt.Errorf("sizes must be at least %d, rounds and n at least 1, bursts at least 0", header)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	measure := func(s shape) error { return compare(ctx, s, *rounds, max(1, *n*256/(128+s.size))) }
	if *inBursts > 0 {
		measure = func(s shape) error { return compareBursts(ctx, s, *inBursts) }
		fmt.Println("| | ns of the writing thread: to build | core | DDS | the layer |")
		fmt.Println("| --- | --- | --- | --- | --- |")
	} else {
		fmt.Println("| | core/s | DDS/s | ns of CPU, core | ns of CPU, DDS | DDS reaches | allocations |")
		fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	}
	for _, size := range s {
		for _, filter := range strings.Split(*filters, ",") {
			for _, k := range of {
				for _, poll := range strings.Split(*polls, ",") {
					for _, write := range strings.Split(*writes, ",") {
						if err := measure(shape{size, k, filter == "true", poll == "true", write == "true"}); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "layer:", err)
		os.Exit(1)
	}
}
