package dcps

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// DomainID numbers a domain: participants of different domains do not see each other.
type DomainID uint32

// Settings are the knobs that the standard does not know. The zero value means the defaults.
type Settings struct {
	// Transport is "shm" for processes of one host, or "tcp". Default: DDS_TRANSPORT, else shm.
	Transport string
	// Peers are host:port of processes on other hosts. Default: DDS_PEERS, separated by commas.
	Peers []string
	// Listen is where the tcp transport accepts its peers. Default: DDS_LISTEN, else a free port of 127.0.0.1.
	Listen string
	// Dir is where the logs of PERSISTENT topics are. Default: DDS_DIR. Without it, PERSISTENT is refused.
	Dir string
	// Subgroups is how many subgroups topics are hashed onto, per delivery path; equal at all processes of a domain.
	// Default 8.
	Subgroups int
	// RingBytes is the size of a sender's ring in a subgroup; equal at all processes of a domain. Default 1 MiB.
	RingBytes int
}

const (
	defaultSubgroups = 8
	maxSubgroups     = 1 << 16
	defaultRingBytes = 1 << 20
)

// withDefaults fills in what is not set from the environment, and checks the rest.
func (s Settings) withDefaults(getenv func(string) string) (Settings, error) {
	if s.Transport == "" {
		s.Transport = getenv("DDS_TRANSPORT")
	}
	if s.Transport == "" {
		s.Transport = "shm"
	}
	if s.Transport != "shm" && s.Transport != "tcp" {
		return s, fmt.Errorf("transport %q is not known; use shm or tcp", s.Transport)
	}
	if s.Peers == nil {
		for _, peer := range strings.Split(getenv("DDS_PEERS"), ",") {
			if peer = strings.TrimSpace(peer); peer != "" {
				s.Peers = append(s.Peers, peer)
			}
		}
	}
	if s.Listen == "" {
		s.Listen = getenv("DDS_LISTEN")
	}
	if s.Dir == "" {
		s.Dir = getenv("DDS_DIR")
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
	if s.RingBytes < 4096 {
		return s, fmt.Errorf("Settings.RingBytes is %d; it must be at least 4096", s.RingBytes)
	}
	return s, nil
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
