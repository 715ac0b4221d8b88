package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

type options struct {
	duration time.Duration
	dir      string
	cpus     []int // for the two processes of cacheline and futex; none: any
	size     int   // of a copy or a message, where that can be chosen; 0: what the measurement takes by itself
	readers  int   // where that can be chosen; 0: one, and then four
	batch    int   // bytes that are synced at once, of append
}

// sizes are those of a measurement that has some by itself.
func (o options) sizes(own ...int) []int {
	if o.size != 0 {
		return []int{o.size}
	}
	return own
}

func (o options) numbersOfReaders() []int {
	if o.readers != 0 {
		return []int{o.readers}
	}
	return []int{1, maxReaders}
}

// limits are the measurements, in the order of their names.
var limits = map[string]func(options) ([]result.Result, error){
	"memcpy":    memcpy,
	"cacheline": cacheline,
	"futex":     futexWakeUp,
	"ring":      ring,
	"core":      core,
	"unordered": unordered,
	"lent":      lent,
	"pool":      pool,
	"tcp":       tcp,
	"file":      file,
	"append":    appended,
	"sync":      synced,
}

// children are what the second processes run; their results are lines of their standard output.
var children = map[string]func(args []string) error{
	"cacheline": cachelineChild,
	"futex":     futexChild,
	"ring":      ringChild,
	"core":      coreChild,
	"large":     largeChild,
	"tcp":       tcpChild,
}

func main() {
	runtime.LockOSThread() // children live as long as the thread that started them; and who spins stays where it is
	if len(os.Args) > 2 && os.Args[1] == childMark {
		if err := children[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "baseline:", os.Args[2:], err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.DurationVar(&o.duration, "duration", 500*time.Millisecond, "of each measurement")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "for the files of file, append and sync, on the disk to be measured")
	cpus := flag.String("cpus", "", "processors for the two processes of cacheline and futex, such as 0,2")
	flag.IntVar(&o.size, "size", 0, "bytes, of memcpy, core, unordered, lent, pool and sync; by measurement if 0")
	flag.IntVar(&o.readers, "readers", 0, "of core, unordered, lent and pool; one, and then four, if 0")
	flag.IntVar(&o.batch, "batch", fileBatch, "bytes that append writes for each sync")
	flag.Parse()
	if o.size < 0 || o.readers < 0 || o.batch < 1 {
		fmt.Fprintf(os.Stderr, "baseline: -size %d -readers %d -batch %d: give numbers from 1\n", o.size, o.readers, o.batch)
		os.Exit(2)
	}
	if err := o.setCPUs(*cpus); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
	names := flag.Args()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(limits))
	}
	if err := run(o, names); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

// setCPUs reads two numbers; -1 is any processor.
func (o *options) setCPUs(s string) error {
	if s == "" {
		return nil
	}
	var a, b int
	if _, err := fmt.Sscanf(s, "%d,%d", &a, &b); err != nil {
		return fmt.Errorf("-cpus %q: give two processors, such as 0,2", s)
	}
	if a >= 0 && b >= 0 {
		o.cpus = []int{a, b}
	}
	return nil
}

func run(o options, names []string) error {
	for _, name := range names {
		if limits[name] == nil {
			return fmt.Errorf("%q: not one of %v", name, slices.Sorted(maps.Keys(limits)))
		}
	}
	for _, name := range names {
		results, err := limits[name](o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i := range results {
			results[i].Role, results[i].Impl = name, "baseline"
		}
		if err := result.Write(os.Stdout, results...); err != nil {
			return err
		}
	}
	return nil
}
