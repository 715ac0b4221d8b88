package main

import (
	"bufio"
	"context"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed peers wire/codec.idl
var sources embed.FS

// program is a peer's.
type program struct {
	name     string // of the codec
	target   string // of the Makefile
	commands []string
	header   string // that the compiler must find
	packages string
}

var programs = []program{
	{"Fast-CDR", "fastcdr", []string{"make", "c++", "fastddsgen"}, "fastcdr/Cdr.h", "libfastcdr-dev fastddsgen g++ make"},
	{"Cyclone DDS", "cyclone", []string{"make", "cc", "idlc"}, "dds/ddsi/ddsi_cdrstream.h", "cyclonedds-dev cyclonedds-tools gcc make"},
}

// missing says what the build would miss, or "".
func (p *program) missing(ctx context.Context) string {
	for _, c := range p.commands {
		if _, err := exec.LookPath(c); err != nil {
			return "no command " + c
		}
	}
	language := map[string]string{"cc": "c", "c++": "c++"}[p.commands[1]]
	probe := exec.CommandContext(ctx, p.commands[1], "-E", "-x", language, "-")
	probe.Stdin = strings.NewReader("#include <" + p.header + ">\n")
	var exit *exec.ExitError
	if err := probe.Run(); errors.As(err, &exit) {
		return "no header " + p.header
	}
	return ""
}

// peer is a program that runs.
type peer struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// startPeers builds what there are packages for in dir, and starts it. It says what is missing.
func startPeers(ctx context.Context, dir string) (peers []*peer, missing []string, err error) {
	if err := writeSources(dir); err != nil {
		return nil, nil, fmt.Errorf("the sources of the peers: %w", err)
	}
	for _, p := range programs {
		if why := p.missing(ctx); why != "" {
			missing = append(missing, fmt.Sprintf("%s is left out: %s; install the Debian packages %s", p.name, why, p.packages))
			continue
		}
		if out, err := exec.CommandContext(ctx, "make", "-C", dir, "OUT="+dir, p.target).CombinedOutput(); err != nil {
			return peers, missing, fmt.Errorf("%s does not build: %w\n%s", p.name, err, out)
		}
		started, err := start(ctx, p.name, filepath.Join(dir, p.target+".peer"))
		if err != nil {
			return peers, missing, err
		}
		peers = append(peers, started)
	}
	return peers, missing, nil
}

func start(ctx context.Context, name, path string) (*peer, error) {
	p := &peer{name: name, cmd: exec.CommandContext(ctx, path)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.cmd.Start()
}

// stop ends the program and waits for it.
func (p *peer) stop() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// ask sends a line and gives the answer: "" if the peer does not have what is asked for.
func (p *peer) ask(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		return "", fmt.Errorf("%s: %w", p.name, err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s, asked for "+format+": %w", append([]any{p.name}, append(args, err)...)...)
	}
	line = strings.TrimSpace(line)
	if line == "-" {
		line = ""
	}
	return line, nil
}

// operations lists what is measured of the peer, after comparing its samples with ours.
func (p *peer) operations(s *subject) ([]operation, error) {
	var list []operation
	for _, version := range []int{xcdr1, xcdr2} {
		answer, err := p.ask("bytes %s %d", s.name, version)
		if err != nil || answer == "" {
			if err != nil {
				return nil, err
			}
			continue
		}
		theirs, err := hex.DecodeString(answer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		mine, err := s.sample(version)
		if err != nil {
			return nil, err
		}
		if err := sameBytes(mine, theirs); err != nil {
			return nil, fmt.Errorf("%s in XCDR%d of %s: %w", s.name, version, p.name, err)
		}
		for _, how := range []struct {
			kind kind
			name string
		}{{write, "encode"}, {read, "decode"}} {
			list = append(list, operation{s.name, how.kind, p.name, fmt.Sprintf("%s, XCDR%d", how.name, version), len(theirs),
				func(n int) (c cost, err error) {
					answer, err := p.ask("time %s %d %s %d", s.name, version, how.name, n)
					if err != nil {
						return c, err
					}
					var ns int64
					if _, err := fmt.Sscan(answer, &ns, &c.allocations, &c.allocated); err != nil {
						return c, fmt.Errorf("%s: answer %q: %w", p.name, answer, err)
					}
					c.cpu = time.Duration(ns)
					return c, nil
				}})
		}
	}
	return list, nil
}

// sameBytes compares a sample of ours with a peer's, which may lack the padding at the end, and the count of it in the header.
func sameBytes(mine, theirs []byte) error {
	mine = mine[:len(mine)-int(mine[3]&3)]
	for i, b := range mine {
		if counts := i == 3; !counts && (i >= len(theirs) || theirs[i] != b) {
			return fmt.Errorf("the samples differ at byte %d, ours of %d bytes, theirs of %d: from there ours %.16x, theirs %.16x",
				i, len(mine), len(theirs), mine[i:], theirs[min(i, len(theirs)):])
		}
	}
	if extra := len(theirs) - len(mine); extra > 3 {
		return fmt.Errorf("the sample has %d bytes, ours %d", len(theirs), len(mine))
	}
	return nil
}

func writeSources(dir string) error {
	return fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, strings.TrimPrefix(strings.TrimPrefix(path, "peers"), "wire"))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		}
		b, err := sources.ReadFile(path)
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
