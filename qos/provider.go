package qos

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// Provider holds the QoS profiles of the files loaded into it. The zero value is empty and ready to use.
//
// Methods of a nil Provider fail with an error, or list nothing.
//
// A name is "Library::Profile", or "Library::Profile::Entity" for a named entity element of it. What a profile
// does not set has the default of the standard.
type Provider struct {
	mu       sync.RWMutex
	profiles map[string]*profile // replaced as a whole by Load, never changed in place
	order    []string
	warnings XMLErrors
}

var errNilProvider = errors.New("qos: the Provider is nil: use what LoadFile or Load returned, after looking at its error")

// LoadFile reads the QoS profiles of a file. What is wrong with its content is reported in one pass, as
// XMLErrors.
func LoadFile(path string) (*Provider, error) {
	p := new(Provider)
	if err := p.LoadFile(path); err != nil {
		return nil, err
	}
	return p, nil
}

// Load reads QoS profiles from r; name stands for the file in messages.
func Load(name string, r io.Reader) (*Provider, error) {
	p := new(Provider)
	if err := p.Load(name, r); err != nil {
		return nil, err
	}
	return p, nil
}

// LoadFile adds the profiles of another file, which may refer to those loaded before. After an error p is as
// it was.
func (p *Provider) LoadFile(path string) error {
	if p == nil {
		return errNilProvider
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("qos: opening profiles: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	return p.Load(path, f)
}

// Load adds the profiles that r holds, like LoadFile.
func (p *Provider) Load(name string, r io.Reader) error {
	if p == nil {
		return errNilProvider
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l, err := load(name, r, p.profiles)
	if err != nil {
		return err
	}
	p.profiles = l.profiles
	p.order = append(p.order, l.order...)
	p.warnings = append(p.warnings, l.warnings...)
	return nil
}

// Profiles lists the names of all profiles in the order in which they were defined.
func (p *Provider) Profiles() []string {
	if p == nil {
		return nil
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.order)
}

// Warnings lists what was read but has no effect, or could have been meant otherwise.
func (p *Provider) Warnings() []*XMLError {
	if p == nil {
		return nil
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.warnings)
}

// DomainParticipant gives the profile's QoS for a participant.
func (p *Provider) DomainParticipant(name string) (DomainParticipant, error) {
	q := DefaultDomainParticipant()
	if err := p.fill(kindParticipant, name, "", q.policies()); err != nil {
		return DomainParticipant{}, err
	}
	return q, nil
}

// Publisher gives the profile's QoS for a publisher.
func (p *Provider) Publisher(name string) (Publisher, error) {
	q := DefaultPublisher()
	if err := p.fill(kindPublisher, name, "", q.policies()); err != nil {
		return Publisher{}, err
	}
	return q, nil
}

// Subscriber gives the profile's QoS for a subscriber.
func (p *Provider) Subscriber(name string) (Subscriber, error) {
	q := DefaultSubscriber()
	if err := p.fill(kindSubscriber, name, "", q.policies()); err != nil {
		return Subscriber{}, err
	}
	return q, nil
}

// Topic gives the profile's QoS for the topic of that name: the first element whose topic_filter matches, else the
// one without a filter. An empty topic name selects the latter.
func (p *Provider) Topic(name, topicName string) (Topic, error) {
	q := DefaultTopic()
	if err := p.fill(kindTopic, name, topicName, q.policies()); err != nil {
		return Topic{}, err
	}
	return q, nil
}

// DataWriter gives the profile's QoS for a writer of that topic, selected as by Topic.
func (p *Provider) DataWriter(name, topicName string) (DataWriter, error) {
	q := DefaultDataWriter()
	if err := p.fill(kindWriter, name, topicName, q.policies()); err != nil {
		return DataWriter{}, err
	}
	return q, nil
}

// DataReader gives the profile's QoS for a reader of that topic, selected as by Topic.
func (p *Provider) DataReader(name, topicName string) (DataReader, error) {
	q := DefaultDataReader()
	if err := p.fill(kindReader, name, topicName, q.policies()); err != nil {
		return DataReader{}, err
	}
	return q, nil
}

func (p *Provider) fill(kind entityKind, name, topic string, set policySet) error {
	found, entityName, err := p.find(name)
	if err != nil {
		return err
	}
	e := found.lookup(kind, topic)
	if entityName != "" {
		if e = found.named(kind, entityName); e == nil {
			return unknownProfile(name, fmt.Sprintf("%s has no <%v> named %q", found.name, kind, entityName),
				didYouMean(entityName, entityNames(found, kind)))
		}
	}
	if e != nil {
		e.resolved.apply(set)
	}
	return nil
}

// find takes a name apart and gives the profile, and the name of the entity in it if there is one.
func (p *Provider) find(name string) (found *profile, entityName string, err error) {
	if p == nil {
		return nil, "", errNilProvider
	}
	p.mu.RLock()
	profiles := p.profiles
	p.mu.RUnlock()
	parts := strings.SplitN(strings.TrimPrefix(strings.TrimSpace(name), "::"), "::", 3)
	if len(parts) == 3 {
		entityName = parts[2]
	}
	full := strings.Join(parts[:min(len(parts), 2)], "::")
	found = profiles[full]
	switch {
	case found != nil:
		return found, entityName, nil
	case len(parts) == 1:
		hint := cmp.Or(profileHint("::"+full, profiles, nil), "write Library::Profile")
		return nil, "", unknownProfile(name, "it names no library", hint)
	}
	return nil, "", unknownProfile(name, "", profileHint(full, profiles, nil))
}

func unknownProfile(name, why, hint string) error {
	text := fmt.Sprintf("%q", name)
	if why != "" {
		text += ": " + why
	}
	if hint != "" {
		text += "; " + hint
	}
	return fmt.Errorf("%w %s", ErrUnknownProfile, text)
}
