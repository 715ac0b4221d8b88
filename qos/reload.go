package qos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Reload says what reading the files again came to.
type Reload struct {
	// Profiles are those whose values have changed, with new ones and those that are gone, sorted by name. It is empty if
	// only comments have, or what a profile comes from.
	Profiles []string
	// Err is why the files could not be taken over: XMLErrors, or that a file is gone. The Provider is then as it was.
	Err error
}

// Reload reads all files again that p was made of, and takes them over if they are without error. It tells watchers if
// that changed a profile, or failed.
func (p *Provider) Reload() Reload {
	if p == nil {
		return Reload{Err: errNilProvider}
	}
	result := p.reload()
	p.mu.RLock()
	watchers := slices.Clone(p.watchers)
	p.mu.RUnlock()
	if result.Err != nil || len(result.Profiles) > 0 {
		for _, w := range watchers {
			w.notify(result)
		}
	}
	return result
}

func (p *Provider) reload() Reload {
	p.loading.Lock()
	defer p.loading.Unlock()
	sources := slices.Clone(p.sources)
	var next contents
	var err error
	for i := range sources {
		sources[i].read()
		if err == nil {
			next, err = sources[i].load(next, p.options)
		}
	}
	if err != nil {
		p.become(p.now, sources) // an error is told once for each change, too
		return Reload{Err: err}
	}
	changed := changedProfiles(p.now, next)
	p.become(next, sources)
	return Reload{Profiles: changed}
}

// changedProfiles compares by value.
func changedProfiles(from, to contents) []string {
	var out []string
	for name, p := range from.profiles {
		if q := to.profiles[name]; q == nil || !sameProfile(p, q) {
			out = append(out, name)
		}
	}
	for name := range to.profiles {
		if from.profiles[name] == nil {
			out = append(out, name)
		}
	}
	for kind, name := range to.defaults {
		if name != from.defaults[kind] && name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func sameProfile(p, q *profile) bool {
	return slices.EqualFunc(p.visible, q.visible, func(a, b *entity) bool {
		return a.key() == b.key() && sameLeaves(a.resolved, b.resolved)
	})
}

func sameLeaves(a, b leaves) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return slices.EqualFunc(a, b, func(x, y *leaf) bool {
		return x == nil && y == nil || x != nil && y != nil && x.text == y.text
	})
}

// watcher is someone who wants to hear of changes.
type watcher struct{ notify func(Reload) }

// OnReload calls notify after each Reload that changed a profile or failed, by whoever called it; Watch calls Reload. It
// runs on the goroutine of the Reload and may use p. Call stop to hear no more.
func (p *Provider) OnReload(notify func(Reload)) (stop func()) {
	if p == nil || notify == nil {
		return func() {}
	}
	w := &watcher{notify}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = append(p.watchers, w)
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watchers = slices.DeleteFunc(slices.Clone(p.watchers), func(other *watcher) bool { return other == w })
	})
}

// Modified says whether a file reads differently from when it was read last. Files are compared by content: a file that
// another takes the place of, a mounted one, and one that was written twice within the resolution of its time are all seen.
func (p *Provider) Modified() bool {
	if p == nil {
		return false
	}
	p.mu.RLock()
	sources := slices.Clone(p.sources)
	p.mu.RUnlock()
	return slices.ContainsFunc(sources, func(s source) bool {
		now := s
		now.read()
		return now.text != s.text || fmt.Sprint(now.err) != fmt.Sprint(s.err)
	})
}

// Watch looks at the files at each tick until ctx ends, and calls Reload when one reads differently: once for each change, also
// for one that is an error. The QoS of live entities does not change by it; see Apply. A file that is written in place may be
// read when it is half there, which is an error first; rename the new one over the old.
//
//	go p.Watch(ctx, time.Tick(time.Second))
//
// It reads the files again, and does not ask the system to be told. QoS changes rarely, a file has a few kilobytes, and a second
// is soon enough; in return it works on network file systems, in containers and with files that are replaced, where
// notifications fail in silence.
func (p *Provider) Watch(ctx context.Context, ticks <-chan time.Time) error {
	if p == nil {
		return errNilProvider
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-ticks:
			switch {
			case !ok:
				return nil
			case p.Modified():
				p.Reload()
			}
		}
	}
}
