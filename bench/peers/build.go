package peers

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed Makefile agent cyclone fastdds
var sources embed.FS

// Peers is what could be built.
type Peers struct {
	Variants []Variant
	Missing  []string // implementations that are not there, and what to install
}

// implementation is one program.
type implementation struct {
	name     string
	commands []string // that the build needs
	header   string   // that the compiler must find
	packages string
}

var implementations = []implementation{
	{"cyclone", []string{"make", "cc", "idlc"}, "dds/dds.h", "cyclonedds-dev cyclonedds-tools"},
	{"fastdds", []string{"make", "c++", "fastddsgen"}, "fastdds/dds/domain/DomainParticipant.hpp", "libfastrtps-dev fastddsgen"},
}

// Build writes the sources to dir and builds what the machine has packages for. It fails if an installed
// implementation does not build.
func Build(ctx context.Context, dir string) (*Peers, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	src := filepath.Join(dir, "src")
	if err := writeSources(src); err != nil {
		return nil, fmt.Errorf("peers: the sources cannot be written: %w", err)
	}
	p := &Peers{}
	for _, i := range implementations {
		if why := i.missing(ctx); why != "" {
			p.Missing = append(p.Missing, fmt.Sprintf("%s: %s; install the Debian packages %s", i.name, why, i.packages))
			continue
		}
		make := exec.CommandContext(ctx, "make", "-f", filepath.Join(src, "Makefile"), "OUT="+dir, i.name)
		if out, err := make.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("peers: %s does not build: %w\n%s", i.name, err, out)
		}
		for _, v := range variants {
			if v.program == i.name {
				v.dir, v.src = dir, src
				p.Variants = append(p.Variants, v)
			}
		}
	}
	p.dropWithoutDaemon()
	return p, nil
}

// dropWithoutDaemon leaves out what needs a program that is not there.
func (p *Peers) dropWithoutDaemon() {
	kept := p.Variants[:0]
	for _, v := range p.Variants {
		if v.daemon != "" {
			if _, err := exec.LookPath(v.daemon); err != nil {
				p.Missing = append(p.Missing, fmt.Sprintf("%s: no %s; install the Debian package %s", v.Name, v.daemon, v.daemonPackage))
				continue
			}
		}
		kept = append(kept, v)
	}
	p.Variants = kept
}

func writeSources(dir string) error {
	return fs.WalkDir(sources, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(p))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		b, err := sources.ReadFile(p)
		if err != nil {
			return err
		}
		// What has not changed keeps its time, so that make has nothing to do.
		if old, err := os.ReadFile(to); err == nil && string(old) == string(b) {
			return nil
		}
		return os.WriteFile(to, b, 0o644)
	})
}

// missing says what the build would miss, or "".
func (i implementation) missing(ctx context.Context) string {
	for _, c := range i.commands {
		if _, err := exec.LookPath(c); err != nil {
			return "no command " + c
		}
	}
	probe := exec.CommandContext(ctx, i.commands[1], "-E", "-x", "c++", "-")
	if i.commands[1] == "cc" {
		probe.Args[3] = "c"
	}
	probe.Stdin = strings.NewReader("#include <" + i.header + ">\n")
	var exit *exec.ExitError
	if err := probe.Run(); errors.As(err, &exit) {
		return "no header " + i.header
	}
	return ""
}
