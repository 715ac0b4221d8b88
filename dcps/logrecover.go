package dcps

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/topic"
)

// recoverHistory builds the history of a topic from the log of an earlier run. All its writers are gone. It counts what it has
// read.
func recoverHistory(dir string, ch derecho.ChannelID, local *localType, read *atomic.Uint64) (*store, error) {
	base, err := readBase(dir)
	if err != nil {
		return nil, err
	}
	read.Add(1)
	infos, _, err := readWriters(writersFile(dir))
	if err != nil {
		return nil, err
	}
	entries, _, err := readEpochs(epochsFile(dir))
	if err != nil {
		return nil, err
	}
	s := newStore()
	index := indexOf(entries)
	endings := endingsOf(entries, ch)
	state, path := stateOf(entries, ch), epochsFile(dir)
	if b, counts := base.state(ch, &index); counts {
		state, path = b.state, baseFile(dir)
		endings = slices.DeleteFunc(endings, func(e endedWriters) bool { return e.at.Compare(b.at) <= 0 })
	}
	if len(state) > 0 {
		if s, err = loadStore(state); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		s.rekey(local.keys)
	}
	read.Add(1)
	var types typeMatcher
	writers := make(map[endpointKey]*endpoint)
	for r, err := range base.records(dir, ch, read) {
		if err != nil {
			return nil, err
		}
		if index.Begun() != 0 && !index.Counts(ch, r.Epoch) {
			continue // superseded by the state, or from before this log had the topic
		}
		endings = s.endThose(endings, r.Version)
		key := endpointKey{derecho.NodeID(r.Sender), derecho.EndpointID(r.Writer)}
		w, met := writers[key]
		if !met {
			w = pastWriter(key, infos[key], local, &types)
			writers[key] = w
			if of := s.writers[key]; w != nil && of != nil && !bytes.Equal(of.info, w.info) {
				s.rewrite(key, w.info, w.ann) // it has announced another QoS since
			}
		}
		if w == nil {
			continue
		}
		m := derecho.Message{
			Header: derecho.Header{Writer: key.id, WriterSeq: r.WriterSeq, Timestamp: r.Timestamp, Kind: derecho.Kind(r.Kind), Flags: r.Flags},
			Sender: key.node, Channel: ch, Epoch: r.Epoch, Seq: r.Seq, Payload: r.Payload,
		}
		if _, err := unwrap(&m); err != nil {
			continue
		}
		if h, ok := instanceOf(w.keys, &m); ok {
			s.add(w, &m, h)
		}
	}
	s.endAll()
	return s, nil
}

// pastWriter makes a writer of an earlier run known by what it announced; nil if that is lost, or if it had a type that
// the topic's can not read.
func pastWriter(key endpointKey, info []byte, local *localType, types *typeMatcher) *endpoint {
	ann, err := decodeAnnouncement(info)
	if err != nil || !ann.writes {
		return nil
	}
	keys := local.keysOf(types, ann)
	if keys == nil {
		return nil
	}
	return &endpoint{key: key, info: info, ann: ann, path: topic.Logged, keys: keys}
}
