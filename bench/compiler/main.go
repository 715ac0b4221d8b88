package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

type config struct {
	rounds int
	lines  int
	only   []string
	keep   string
	limit  time.Duration
}

func main() {
	var c config
	var only string
	flag.IntVar(&c.rounds, "rounds", 3, "of which the best counts")
	flag.IntVar(&c.lines, "lines", 100_000, "of IDL in a corpus, at least 20,000")
	flag.StringVar(&only, "only", "idlgen,idlc,fastddsgen", "what to measure")
	flag.StringVar(&c.keep, "keep", "", "write the corpora into a directory and stop")
	flag.DurationVar(&c.limit, "limit", time.Minute, "after which a compiler is stopped")
	flag.Parse()
	c.only = strings.Split(only, ",")
	if err := run(c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compiler:", err)
		os.Exit(1)
	}
}

// compiler is one of those that take turns.
type compiler struct {
	name    string
	command string
	args    []string // before the files; OUT stands for the directory of the output
	each    bool     // a process for each file
}

// result is the best round of a compiler for a corpus: its time, and that of all processors.
type result struct {
	took, cpu time.Duration
	output    int64 // bytes
	stopped   bool  // at the limit
}

func run(c config, out io.Writer) error {
	if c.rounds < 1 || c.lines < 20*corpusFiles {
		return fmt.Errorf("-rounds %d -lines %d: at least 1, and %d", c.rounds, c.lines, 20*corpusFiles)
	}
	if c.keep != "" {
		_, err := writeCorpora(c.keep, c.lines)
		return err
	}
	dir, err := os.MkdirTemp("", "compiler")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	corpora, err := writeCorpora(dir, c.lines)
	if err != nil {
		return err
	}
	compilers, err := c.compilers(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| corpus | compiler | seconds | CPU seconds | lines a second | code written | time against idlgen |\n|---|---|---:|---:|---:|---:|---:|\n")
	for _, co := range corpora {
		best := make([]result, len(compilers))
		for range c.rounds {
			for i, k := range compilers {
				if best[i].stopped {
					continue
				}
				r, err := k.compile(co, filepath.Join(dir, "out"), c.limit)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", k.name, co.name, err)
				}
				if best[i].took == 0 || r.took < best[i].took {
					best[i] = r
				}
			}
		}
		for i, k := range compilers {
			r := best[i]
			if r.stopped {
				fmt.Fprintf(out, "| %s | %s | not done after %v | | | | |\n", co.name, k.name, c.limit)
				continue
			}
			fmt.Fprintf(out, "| %s | %s | %.2f | %.2f | %.0f | %.1f MB | %.1f |\n", co.name, k.name, r.took.Seconds(), r.cpu.Seconds(),
				float64(c.lines)/r.took.Seconds(), float64(r.output)/1e6, r.took.Seconds()/best[0].took.Seconds())
		}
	}
	return nil
}

// compilers are those that are asked for and there.
func (c config) compilers(dir string) ([]compiler, error) {
	all := []compiler{
		{name: "idlgen", command: filepath.Join(dir, "idlgen"), args: []string{"-o", "OUT"}},
		{name: "idlc", command: "idlc", args: []string{"-o", "OUT"}, each: true},
		{name: "fastddsgen", command: "fastddsgen", args: []string{"-replace", "-d", "OUT"}},
	}
	var list []compiler
	for _, k := range all {
		if !slices.Contains(c.only, k.name) {
			continue
		}
		if k.name == "idlgen" {
			if text, err := exec.Command("go", "build", "-o", k.command, "github.com/omg-dds-go/dds/cmd/idlgen").CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%w: %s", err, text)
			}
		} else if _, err := exec.LookPath(k.command); err != nil {
			fmt.Fprintf(os.Stderr, "compiler: %s is not measured: it is not installed\n", k.name)
			continue
		}
		list = append(list, k)
	}
	if len(list) == 0 {
		return nil, errors.New("nothing to measure")
	}
	return list, nil
}

// compile has a compiler translate a corpus into an empty directory.
func (k compiler) compile(c corpus, out string, limit time.Duration) (result, error) {
	if err := os.RemoveAll(out); err != nil {
		return result{}, err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return result{}, err
	}
	args := slices.Clone(k.args)
	args[slices.Index(args, "OUT")] = out
	jobs := [][]string{append(slices.Clone(args), c.files...)}
	if k.each {
		jobs = nil
		for _, f := range c.files {
			jobs = append(jobs, append(slices.Clone(args), f))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	start := time.Now()
	cpu, err := k.runAll(ctx, c.dir, jobs)
	r := result{took: time.Since(start), cpu: cpu, stopped: ctx.Err() != nil}
	if err != nil || r.stopped {
		return r, err
	}
	r.output, err = size(out)
	return r, err
}

// runAll runs processes, as many at a time as there are processors.
func (k compiler) runAll(ctx context.Context, dir string, jobs [][]string) (time.Duration, error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var cpu time.Duration
	var failed error
	next := make(chan []string)
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		wg.Go(func() {
			for args := range next {
				cmd := exec.CommandContext(ctx, k.command, args...)
				cmd.Dir = dir
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // fastddsgen is a script around a process of its own
				cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
				text, err := cmd.CombinedOutput()
				mu.Lock()
				if cmd.ProcessState != nil {
					cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				}
				if err != nil && ctx.Err() == nil {
					failed = fmt.Errorf("%w: %s", err, last(text))
				}
				mu.Unlock()
			}
		})
	}
	for _, args := range jobs {
		next <- args
	}
	close(next)
	wg.Wait()
	return cpu, failed
}

// last gives the end of what a program said.
func last(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// size is that of all files in a directory.
func size(dir string) (int64, error) {
	var n int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
