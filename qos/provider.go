package qos

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// Options say how a Provider reads files.
type Options struct {
	// Strict makes an error of everything that is otherwise warned of, above all of elements that have no effect.
	Strict bool
	// LookupEnv gives the values of variables that files name. Nil is os.LookupEnv.
	LookupEnv func(name string) (string, bool)
}

// Provider holds the QoS profiles of the files loaded into it. The zero value is empty and ready to use.
//
// Methods of a nil Provider fail with an error, or list nothing.
//
// A name is "Library::Profile", or "Library::Profile::Entity" for a named entity element of it; in files of Fast DDS and
// OpenDDS, which have no libraries, it is "Profile". The empty name is the profile that a file makes the default
// (is_default_qos), or else the default of the standard. Built-in profiles are found like those of files. What a profile
// does not set has the default of the standard.
type Provider struct {
	options Options
	// loading is held while files are read, and taken before mu, which is not: who asks for a profile does not wait for a disk.
	// Both are held to change what mu guards.
	loading  sync.Mutex
	mu       sync.RWMutex
	now      contents
	sources  []source
	watchers []*watcher // guarded by mu alone
}

// contents is what the files of a Provider say. It is replaced as a whole, never changed in place.
type contents struct {
	profiles map[string]*profile
	order    []string
	defaults [entityKinds]string
	warnings XMLErrors
	files    []string // that were read, for messages
}

var errNilProvider = errors.New("qos: the Provider is nil: use what LoadFile or Load returned, after looking at its error")

// NewProvider makes an empty Provider that reads files in this way.
func NewProvider(o Options) *Provider { return &Provider{options: o} }

// LoadFile reads the QoS profiles of a file. What is wrong with its content is reported in one pass, as
// XMLErrors.
func LoadFile(path string) (*Provider, error) {
	p := new(Provider)
	if err := p.LoadFile(path); err != nil {
		return nil, err
	}
	return p, nil
}

// Load reads QoS profiles from r; name stands for the file in messages, and its ending tells the format.
func Load(name string, r io.Reader) (*Provider, error) {
	p := new(Provider)
	if err := p.Load(name, r); err != nil {
		return nil, err
	}
	return p, nil
}

// LoadFile adds the profiles of another file, which may refer to those loaded before. After an error p is as
// it was. Reload and Watch read the file again.
func (p *Provider) LoadFile(path string) error {
	return p.add(false, fileSource(path))
}

// Load adds the profiles that r holds, like LoadFile. They stay as they are when files are read again.
func (p *Provider) Load(name string, r io.Reader) error {
	if p == nil {
		return errNilProvider
	}
	var rep report
	data, ok := readDocument(name, r, &rep)
	if !ok {
		return rep.err()
	}
	return p.add(false, source{name: name, text: string(data)})
}

// add reads sources over what is there: all of them or none.
func (p *Provider) add(replace bool, sources ...source) error {
	if p == nil {
		return errNilProvider
	}
	p.loading.Lock()
	defer p.loading.Unlock()
	next := p.now
	for i := range sources {
		s := &sources[i]
		s.replace = replace
		s.read()
		var err error
		if next, err = s.load(next, p.options); err != nil {
			return err
		}
	}
	p.become(next, slices.Concat(p.sources, sources))
	return nil
}

// become takes over what was read. Called with loading held.
func (p *Provider) become(next contents, sources []source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.sources = next, sources
}

// source is one document that a Provider was made of.
type source struct {
	name    string
	text    string // of the document, as it was read last
	err     error  // that reading it gave
	file    bool   // name is a path
	replace bool   // its profiles may take the place of earlier ones
}

func fileSource(path string) source { return source{name: path, file: true} }

// read gets the text of a file.
func (s *source) read() {
	if s.file {
		s.text, s.err = readFile(s.name)
	}
}

// load puts what the source says over what earlier ones said.
func (s *source) load(before contents, o Options) (contents, error) {
	if s.err != nil {
		return before, s.err
	}
	l, err := load(input{s.name, strings.NewReader(s.text), o, s.replace}, before.profiles, builtin())
	if err != nil {
		return before, err
	}
	after := contents{l.profiles, slices.Concat(before.order, l.order), before.defaults, slices.Concat(before.warnings, l.warned()),
		slices.Concat(before.files, []string{s.name})}
	for kind, name := range l.defaults {
		if name != "" {
			after.defaults[kind] = name
		}
	}
	return after, nil
}

func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("qos: opening profiles: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	var rep report
	data, ok := readDocument(path, f, &rep)
	if !ok {
		return "", rep.err()
	}
	return string(data), nil
}

func (p *Provider) contents() contents {
	if p == nil {
		return contents{}
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.now
}

// Profiles lists the names of all profiles of the files, in the order in which they were defined.
func (p *Provider) Profiles() []string { return slices.Clone(p.contents().order) }

// DefaultProfile is the profile that the empty name stands for at entities of this kind, or "".
func (p *Provider) DefaultProfile(kind EntityKind) string {
	k, err := kind.check()
	if err != nil {
		return ""
	}
	return p.contents().defaults[k]
}

// Warnings lists what was read but has no effect, or could have been meant otherwise.
func (p *Provider) Warnings() []*XMLError { return slices.Clone(p.contents().warnings) }

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
	if p == nil {
		return errNilProvider
	}
	e, err := p.contents().entity(kind, name, topic)
	if err != nil {
		return err
	}
	if e != nil {
		e.resolved.apply(set)
	}
	return nil
}

// entity selects the element for a lookup. Nil is the default of the standard.
func (c contents) entity(kind entityKind, name, topic string) (*entity, error) {
	if name == "" {
		if name = c.defaults[kind]; name == "" {
			return nil, nil
		}
	}
	found, entityName, err := c.find(name)
	if err != nil {
		return nil, err
	}
	if entityName == "" {
		return found.lookup(kind, topic), nil
	}
	e := found.named(kind, entityName)
	if e == nil {
		return nil, unknownProfile(name, fmt.Sprintf("%s has no <%v> named %q", found.name, kind, entityName),
			didYouMean(entityName, entityNames(found, kind)))
	}
	return e, nil
}

// find takes a name apart and gives the profile, and the name of the entity in it if there is one.
func (c contents) find(name string) (found *profile, entityName string, err error) {
	get := func(parts []string) *profile {
		full := strings.Join(parts, "::")
		if p := c.profiles[full]; p != nil {
			return p
		}
		return builtin()[full]
	}
	parts := strings.SplitN(strings.TrimPrefix(strings.TrimSpace(name), "::"), "::", 3)
	if found = get(parts[:min(len(parts), 2)]); found != nil {
		if len(parts) == 3 {
			entityName = parts[2]
		}
		return found, entityName, nil
	}
	if len(parts) == 2 { // of a file without libraries
		if found = get(parts[:1]); found != nil {
			return found, parts[1], nil
		}
	}
	full := strings.Join(parts[:min(len(parts), 2)], "::")
	hint := profileHint(full, "", c.profiles, nil, builtin())
	if len(parts) == 1 {
		if hint == "" {
			hint = "write Library::Profile; " + c.present()
		}
		return nil, "", unknownProfile(name, "it names no library", hint)
	}
	if hint == "" {
		hint = c.present()
	}
	return nil, "", unknownProfile(name, "", hint)
}

// present tells which profiles there are, and where, to who asks for one that is like none of them.
func (c contents) present() string {
	const most = 10
	if len(c.files) == 0 {
		return "no file of profiles is loaded"
	}
	names := "no profile"
	if n := len(c.order); n > 0 {
		names = strings.Join(c.order[:min(n, most)], ", ")
		if n > most {
			names += fmt.Sprintf(" and %d more", n-most)
		}
	}
	if len(c.files) == 1 {
		return c.files[0] + " has " + names
	}
	return fmt.Sprintf("%s have %s", strings.Join(c.files[:min(len(c.files), most)], ", "), names)
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
