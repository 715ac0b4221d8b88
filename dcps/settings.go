package dcps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// DomainID numbers a domain: participants of different domains do not see each other.
type DomainID uint32

// Settings are the knobs that the standard does not know. The zero value means the defaults.
type Settings struct {
	// Transport is "shm" for processes of one host, or "tcp". Default: DDS_TRANSPORT, else shm.
	Transport string
	// Peers are host:port of processes on other hosts. Default: DDS_PEERS, separated by commas and nothing else. They are
	// dialled until they are up: DomainParticipant.UnreachedPeers tells which are not.
	Peers []string
	// Listen is where the tcp transport accepts its peers. Of :port the others are told the address from which this host sends to
	// the first of Peers. Default: DDS_LISTEN, else a free port of 127.0.0.1.
	Listen string
	// Dir is where the logs of PERSISTENT topics are: a directory, which is made with the first of them. Default:
	// DDS_DIR. Without it, PERSISTENT is refused.
	Dir string
	// Subgroups is how many subgroups topics are hashed onto, per delivery path; equal at all processes of a domain.
	// Default 8.
	Subgroups int
	// RingBytes is the size of a sender's ring in a subgroup, a power of two from 4 KiB to 1 GiB; equal at all processes
	// of a domain. A sample that is larger than half of it makes the ring grow first. Default 1 MiB.
	RingBytes int
	// MaxRingBytes is up to where rings of this process grow for samples that are larger than half of one, a power of
	// two from RingBytes, for rings that do not grow, to 1 GiB. Half of it is the largest sample that this process can
	// write. Default 1 GiB.
	MaxRingBytes int
	// Lease is how long a process may be silent before the others go on without it, from 10 ms to an hour; equal at all
	// processes of a domain. Short leases find failures soon, and take a process that is merely slow for failed. Three
	// heartbeats fall into it. Default: DDS_LEASE, in the form 500ms, else 500 ms.
	Lease time.Duration
	// Spin is how long a thread that waits, in WaitSet.Wait, looks for samples itself before it sleeps, from 1 µs to an
	// hour. A sleeper is woken within tens of microseconds, one that looks sees a sample in less than one, and
	// takes a core for that as long as it waits. Default: DDS_SPIN, else 30 µs.
	Spin time.Duration
	// Slice is the time slice that the threads of this process ask the scheduler for, from 100 µs to 100 ms. They get neither more
	// time for a short one nor less, but run sooner when they are woken on a busy machine (Linux 6.12; docs/adr/0035). -1
	// leaves them what they have. Default: DDS_SLICE, else 100 µs.
	Slice time.Duration
	// LendBytes is the size from which on samples are read where the writer put them, in its ring, and not copied at
	// delivery: 1 for all, -1 for none. Samples of a topic without key that RELIABLE readers with KEEP_ALL take by loan
	// are lent together, many at a time, whatever their size. A sample that lies unread while a writer needs the room
	// is copied then. Default: DDS_LEND, else 1024.
	LendBytes int
	// Witness is the name of the participant whose vote decides when a failure of the network splits the domain into
	// halves (WithName); equal at all processes of a domain. Without one, neither of two equal halves goes on. Default:
	// DDS_WITNESS, else none.
	Witness string
	// Spindle switches optimizations of the data path off, for experiments (docs/spindle.md): a list such as
	// "-nulls,-batch-send", or "-all"; equal at all processes of a domain. Default: DDS_SPINDLE, else all are on.
	Spindle string
	// LogSegmentBytes is the size of the files of which a log consists, which are reserved whole when they are begun: a
	// multiple of 4 KiB from 8 KiB to 1 GiB. A sample of a PERSISTENT topic has to fit; a writer goes by what its own
	// process says, so it is to be the same at all that store a topic: the log of one whose files are smaller fails
	// with the first sample that does not fit. Default 64 MiB.
	LogSegmentBytes int64
	// LogTrimBytes is by how much a log grows until it is trimmed: what is kept of its topics is written down, and what the
	// log has before that is removed, in whole files (docs/adr/0039). If twice of what is kept is more it grows by that.
	// -1 keeps all. Default 256 MiB.
	LogTrimBytes int64
}

const (
	defaultSubgroups = 8
	maxSubgroups     = 1 << 16
	defaultRingBytes = 1 << 20
	minRingBytes     = 1 << 12
	maxRingBytes     = 1 << 30
	defaultLease     = 500 * time.Millisecond
	minLease         = 10 * time.Millisecond
	defaultLend      = 1 << 10
	defaultSpin      = 30 * time.Microsecond
	minSpin          = time.Microsecond
	minSlice         = 100 * time.Microsecond // of Linux, as maxSlice is
	maxSlice         = 100 * time.Millisecond
	maxWait          = time.Hour
	defaultSegment   = 64 << 20
	defaultTrim      = 256 << 20
	segmentStep      = 4 << 10
	minSegment       = 2 * segmentStep
	maxSegment       = 1 << 30
	maxWitness       = 255
)

// withDefaults fills in what is not set from the environment, and checks the rest.
func (s Settings) withDefaults(getenv func(string) string) (Settings, error) {
	var err error
	if s.Transport == "" {
		s.Transport = getenv("DDS_TRANSPORT")
	}
	if s.Transport == "" {
		s.Transport = "shm"
	}
	if s.Transport != "shm" && s.Transport != "tcp" {
		return s, fmt.Errorf("transport %q is not known; use shm or tcp", s.Transport)
	}
	from := "Settings.Peers"
	if list := getenv("DDS_PEERS"); s.Peers == nil && list != "" {
		s.Peers, from = strings.Split(list, ","), "DDS_PEERS"
	}
	for i, peer := range s.Peers {
		if err := checkAddress(peer, true); err != nil {
			return s, fmt.Errorf("entry %d of %s, %q, is not host:port: %w", i+1, from, peer, err)
		}
	}
	from = "Settings.Listen"
	if s.Listen == "" {
		s.Listen, from = getenv("DDS_LISTEN"), "DDS_LISTEN"
	}
	if s.Listen != "" {
		if err := checkAddress(s.Listen, false); err != nil {
			return s, fmt.Errorf("%s, %q, is not host:port: %w", from, s.Listen, err)
		}
	}
	from = "Settings.Dir"
	if s.Dir == "" {
		s.Dir, from = getenv("DDS_DIR"), "DDS_DIR"
	}
	if s.Dir != "" {
		if err := checkDir(s.Dir); err != nil {
			return s, fmt.Errorf("%s is %q, where logs can not be: %w; name a directory that this user may write to, or unset it if no topic is PERSISTENT", from, s.Dir, err)
		}
	}
	if s.Subgroups == 0 {
		s.Subgroups = defaultSubgroups
	}
	if s.Subgroups < 1 || s.Subgroups > maxSubgroups {
		return s, fmt.Errorf("Settings.Subgroups is %d; it must be between 1 and %d", s.Subgroups, maxSubgroups)
	}
	if s.RingBytes == 0 {
		s.RingBytes = defaultRingBytes
	}
	if n := s.RingBytes; n < minRingBytes || n > maxRingBytes || n&(n-1) != 0 {
		return s, fmt.Errorf("Settings.RingBytes is %d; it must be a power of two from %d to %d", n, minRingBytes, maxRingBytes)
	}
	if s.MaxRingBytes == 0 {
		s.MaxRingBytes = maxRingBytes
	}
	if n := s.MaxRingBytes; n < s.RingBytes || n > maxRingBytes || n&(n-1) != 0 {
		return s, fmt.Errorf("Settings.MaxRingBytes is %d; it must be a power of two from RingBytes, which is %d, to %d", n,
			s.RingBytes, maxRingBytes)
	}
	if s.LendBytes, err = lendBytes(s.LendBytes, getenv("DDS_LEND")); err != nil {
		return s, err
	}
	if s.LogSegmentBytes == 0 {
		s.LogSegmentBytes = defaultSegment
	}
	if n := s.LogSegmentBytes; n < minSegment || n > maxSegment || n%segmentStep != 0 {
		return s, fmt.Errorf("Settings.LogSegmentBytes is %d; it must be a multiple of %d from %d to %d", n, segmentStep, minSegment, maxSegment)
	}
	if s.LogTrimBytes == 0 {
		s.LogTrimBytes = defaultTrim
	}
	if s.LogTrimBytes < -1 {
		return s, fmt.Errorf("Settings.LogTrimBytes is %d; it must be a number of bytes, or -1 to keep all", s.LogTrimBytes)
	}
	from = "Settings.Spindle"
	if s.Spindle == "" {
		s.Spindle, from = getenv("DDS_SPINDLE"), "DDS_SPINDLE"
	}
	if _, err := derecho.ParseSpindle(s.Spindle); err != nil {
		return s, fmt.Errorf("%s is %q: %w", from, s.Spindle, err)
	}
	return s.withFailureDefaults(getenv)
}

// withFailureDefaults does so for what failures are judged by.
func (s Settings) withFailureDefaults(getenv func(string) string) (Settings, error) {
	var err error
	if s.Lease, err = duration("Lease", s.Lease, "DDS_LEASE", getenv, defaultLease, minLease, maxWait); err != nil {
		return s, err
	}
	if s.Spin, err = duration("Spin", s.Spin, "DDS_SPIN", getenv, defaultSpin, minSpin, maxWait); err != nil {
		return s, err
	}
	if s.Slice, err = slice(s.Slice, getenv); err != nil {
		return s, err
	}
	from := "Settings.Witness"
	if s.Witness == "" {
		s.Witness, from = getenv("DDS_WITNESS"), "DDS_WITNESS"
	}
	if len(s.Witness) > maxWitness || !utf8.ValidString(s.Witness) || strings.ContainsFunc(s.Witness, unicode.IsControl) {
		return s, fmt.Errorf("%s is %q; it must be the name of a participant, UTF-8 of at most %d bytes without control characters", from, s.Witness, maxWitness)
	}
	return s, nil
}

// checkDir tells whether logs can be in a directory, which need not be there yet. It makes nothing. Where logs are that
// may be written, others may not be made: whoever needs one is told then.
func checkDir(dir string) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(at)
		switch up := filepath.Dir(at); {
		case errors.Is(err, fs.ErrNotExist) && up != at:
			if _, err := os.Lstat(at); err == nil {
				return fmt.Errorf("%s is a link to what is not there", at)
			}
			at = up // where it will be made
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a directory", at)
		}
		err = mayWrite(at)
		if err == nil || anyLog(at) {
			return nil
		}
		return &fs.PathError{Op: "write to", Path: at, Err: err}
	}
}

// mayWrite tells whether this user may make something in a directory, of which the path is absolute.
func mayWrite(dir string) error {
	// The standard library has no names for them.
	const writeAndEnter, asEffectiveUser = 2 | 1, 0x200 // W_OK | X_OK, AT_EACCESS
	return syscall.Faccessat(-1, dir, writeAndEnter, asEffectiveUser)
}

// anyLog tells whether a directory has a log that this user may write to.
func anyLog(dir string) bool {
	entries, _ := os.ReadDir(dir) // what can not be read has none
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		ok, _ := path.Match(logDirs, e.Name())
		return ok && e.IsDir() && mayWrite(filepath.Join(dir, e.Name())) == nil
	})
}

// lendBytes is Settings.LendBytes.
func lendBytes(n int, variable string) (int, error) {
	from := "Settings.LendBytes"
	switch {
	case n == 0 && variable == "":
		return defaultLend, nil
	case n == 0:
		from = "DDS_LEND"
		var err error
		if n, err = strconv.Atoi(variable); err != nil {
			return 0, fmt.Errorf("DDS_LEND is %q, which is no number of bytes", variable)
		}
	}
	if n == 0 || n < -1 {
		return 0, fmt.Errorf("%s is %d; it must be a number of bytes, 1 for all samples, or -1 for none", from, n)
	}
	return n, nil
}

// slice is Settings.Slice.
func slice(d time.Duration, getenv func(string) string) (time.Duration, error) {
	if d == -1 || d == 0 && getenv("DDS_SLICE") == "-1" {
		return -1, nil
	}
	d, err := duration("Slice", d, "DDS_SLICE", getenv, minSlice, minSlice, maxSlice)
	if err != nil {
		return 0, fmt.Errorf("%w; -1 leaves threads the slices that they have", err)
	}
	return d, nil
}

// duration is a setting: what the program says, or else the environment, or else the default.
func duration(name string, d time.Duration, variable string, getenv func(string) string, otherwise, least, most time.Duration) (time.Duration, error) {
	from := "Settings." + name
	if text := getenv(variable); d == 0 && text != "" {
		parsed, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%s is %q, which is no duration such as 500ms or 2s", variable, text)
		}
		if parsed == 0 {
			return 0, fmt.Errorf("%s is %q; it must be from %v to %v", variable, text, least, most)
		}
		d, from = parsed, variable
	}
	if d == 0 {
		d = otherwise
	}
	if d < least || d > most {
		return 0, fmt.Errorf("%s is %v; it must be from %v to %v", from, d, least, most)
	}
	return d, nil
}

// checkAddress tells why address can not be dialled or, if peer is false, listened on. Names are not looked up.
func checkAddress(address string, peer bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		if e := (*net.AddrError)(nil); errors.As(err, &e) {
			return errors.New(e.Err)
		}
		return err
	}
	if strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return errors.New("it has a space; leave it out")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("port %q is no number up to 65535", port)
	}
	if peer && host == "" {
		return errors.New("the host is missing")
	}
	if peer && n == 0 {
		return errors.New("a peer has no port 0")
	}
	return nil
}

// fingerprint names what all processes of a domain must have in common.
func (s Settings) fingerprint() string {
	return fmt.Sprintf("subgroups=%d ring_bytes=%d", s.Subgroups, s.RingBytes)
}

type participantConfig struct {
	qos      qos.DomainParticipant
	settings Settings
	name     string
	listener ParticipantListener
	core     func(h handler, c participantConfig) (core, error) // tests put their own in
	domain   DomainID
	ctx      context.Context // of joining only
	openLog  func(derecho.SubgroupID) (derecho.Log, error)
	logState func(derecho.SubgroupID, derecho.ChannelID) *derecho.LogState
}

// ParticipantOption is an option of NewDomainParticipant.
type ParticipantOption func(*participantConfig)

// WithParticipantQos sets the QoS of a DomainParticipant.
func WithParticipantQos(q qos.DomainParticipant) ParticipantOption {
	return func(c *participantConfig) { c.qos = q }
}

// WithSettings sets the vendor knobs.
func WithSettings(s Settings) ParticipantOption {
	return func(c *participantConfig) { c.settings = s }
}

// WithName sets the name that peers see; the default is that of the program.
func WithName(name string) ParticipantOption {
	return func(c *participantConfig) { c.name = name }
}

// WithParticipantListener sets the listener that hears what the listeners below it do not handle.
func WithParticipantListener(l ParticipantListener) ParticipantOption {
	return func(c *participantConfig) { c.listener = l }
}

func programName() string { return filepath.Base(os.Args[0]) }
