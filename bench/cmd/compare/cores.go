package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// twoCores are processors for two processes that spin: of different cores where there are such. how says what they are.
func twoCores() (a, b int, how string) {
	if _, err := exec.LookPath("taskset"); err != nil {
		return -1, -1, "not pinned: there is no taskset (Debian package util-linux)"
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return -1, -1, "not pinned: " + err.Error()
	}
	var all []int
	const most = 1024 // as many as the set has
	for n := range most {
		if allowed.IsSet(n) {
			all = append(all, n)
		}
	}
	return pick(all, siblings)
}

// siblings are the processors of the core of one of them, in the words of the kernel.
func siblings(cpu int) string {
	b, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
	if err != nil {
		return strconv.Itoa(cpu)
	}
	return strings.TrimSpace(string(b))
}

func pick(all []int, siblings func(int) string) (a, b int, how string) {
	if len(all) < 2 {
		return -1, -1, "not pinned: there is one processor only"
	}
	for _, n := range all[1:] {
		if siblings(n) != siblings(all[0]) {
			return all[0], n, fmt.Sprintf("the writer on processor %d, the reader on %d", all[0], n)
		}
	}
	return all[0], all[1], fmt.Sprintf("the writer on processor %d, the reader on %d, which share a core", all[0], all[1])
}

// pinned is a command on one processor; -1 is any.
func pinned(ctx context.Context, c *exec.Cmd, cpu int) *exec.Cmd {
	if cpu < 0 {
		return c
	}
	on := exec.CommandContext(ctx, "taskset", append([]string{"--cpu-list", strconv.Itoa(cpu)}, c.Args...)...)
	on.Env = c.Env
	return on
}
