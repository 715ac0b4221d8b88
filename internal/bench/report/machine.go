package report

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what the figures depend on besides the code. What can not be read is empty.
type Machine struct {
	CPU        string
	Cores      int
	Caches     string // of core 0, the nearest first
	RAM        string
	Hypervisor bool
	Kernel     string
	Go         string
	Governor   string // of core 0
	Load       string // averages over 1, 5 and 15 minutes, at the start
	HugePages  string // transparent ones: for private memory, and for shared memory
	Revision   string // of the program
	StartedAt  time.Time
}

// ThisMachine looks at the machine.
func ThisMachine(now time.Time) Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version() + " " + runtime.GOARCH, StartedAt: now}
	cpu := cpuInfo()
	m.CPU = cpu["model name"]
	m.Caches = caches("/sys/devices/system/cpu/cpu0/cache")
	var memory unix.Sysinfo_t
	if unix.Sysinfo(&memory) == nil {
		m.RAM = fmt.Sprintf("%.1f GiB", float64(memory.Totalram)*float64(memory.Unit)/(1<<30))
	}
	m.Hypervisor = strings.Contains(" "+cpu["flags"]+" ", " hypervisor ")
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	m.Governor = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	if f := strings.Fields(firstLine("/proc/loadavg")); len(f) >= 3 {
		m.Load = strings.Join(f[:3], " ")
	}
	const thp = "/sys/kernel/mm/transparent_hugepage"
	if private := chosen(firstLine(filepath.Join(thp, "enabled"))); private != "" {
		m.HugePages = private + ", shared memory " + chosen(firstLine(filepath.Join(thp, "shmem_enabled")))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		m.Revision = info.Main.Version
	}
	return m
}

// caches tells those of a core, of which the kernel keeps a directory each: "48K L1 data, 1024K L2 unified, 32768K L3
// unified of processors 0-1".
func caches(dir string) string {
	var all []string
	for i := 0; ; i++ {
		index := filepath.Join(dir, "index"+strconv.Itoa(i))
		size := firstLine(filepath.Join(index, "size"))
		if size == "" {
			return strings.Join(all, ", ")
		}
		cache := size + " L" + firstLine(filepath.Join(index, "level")) + " " + strings.ToLower(firstLine(filepath.Join(index, "type")))
		if shared := firstLine(filepath.Join(index, "shared_cpu_list")); strings.ContainsAny(shared, "-,") {
			cache += " of processors " + shared
		}
		all = append(all, cache)
	}
}

// Busy tells that other programs needed a good part of the machine when the measurement began.
func (m *Machine) Busy() bool {
	first, _, _ := strings.Cut(m.Load, " ")
	load, err := strconv.ParseFloat(first, 64)
	return err == nil && load > float64(m.Cores)/4
}

// cpuInfo is what the kernel says of the first core.
func cpuInfo() map[string]string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	info := map[string]string{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan() && s.Text() != ""; {
		name, value, _ := strings.Cut(s.Text(), ":")
		info[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return info
}

func firstLine(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// chosen is the word in brackets, as in "always [madvise] never".
func chosen(s string) string {
	_, s, _ = strings.Cut(s, "[")
	s, _, _ = strings.Cut(s, "]")
	return s
}
