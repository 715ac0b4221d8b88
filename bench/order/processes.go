package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// finished is the last line of a replica's output. It then stays until its standard input ends: who left earlier would take
// the majority away from the others.
const finished = "finished"

func awaitOthers() error {
	if _, err := fmt.Println(finished); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// startReplicas starts this program once for each replica and passes on what they print.
func startReplicas(ctx context.Context, c config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ports, err := freePorts(replicas * portsEach)
	if err != nil {
		return err
	}
	var running, counting sync.WaitGroup
	counting.Add(replicas)
	allFinished := make(chan struct{})
	go func() { counting.Wait(); close(allFinished) }()
	errs := make([]error, replicas)
	for i := range replicas {
		cmd := c.hosts.command(ctx, i, self,
			"-impl", c.impl, "-hosts", c.hosts.String(), "-size", fmt.Sprint(c.size), "-inflight", fmt.Sprint(c.inflight),
			"-duration", c.duration.String(),
			"-warmup", c.warmup.String(), "-cpuprofile", c.profiles, "-replica", fmt.Sprint(i), "-ports", strings.Join(ports, ","))
		cmd.Stderr = os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 2 * time.Second                                    // then it is killed
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // when this process is
		running.Go(func() {
			runtime.LockOSThread() // or the kernel ends the process when Go retires the thread that started it
			if err := runOne(cmd, sync.OnceFunc(counting.Done), allFinished); err != nil {
				errs[i] = fmt.Errorf("replica %d: %w", i, err)
				cancel() // the others would wait for it
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// runOne passes on what a replica prints, says when it has finished, and ends it when all have.
func runOne(cmd *exec.Cmd, done func(), allFinished <-chan struct{}) error {
	defer done() // also without success
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() != finished {
			fmt.Println(lines.Text())
			continue
		}
		done()
		<-allFinished
		if err := in.Close(); err != nil {
			return errors.Join(err, cmd.Wait())
		}
	}
	return errors.Join(lines.Err(), cmd.Wait())
}
