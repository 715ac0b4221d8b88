package roles

import (
	"context"
	"io"
	"net"
	"os"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/model"
	"github.com/omg-dds-go/dds/examples/avionics/internal/sbs1"
)

// surveillance publishes a TrafficReport for every message that its receiver hears.
type surveillance struct {
	*process
	writer *writer[avionics.TrafficReport]
	source messages
	tracks sbs1.Table
	stop   chan struct{}
}

// messages is a feed of transponder messages with the offset at which each is due; io.EOF ends it.
type messages interface {
	next(ctx context.Context) (offset time.Duration, m *sbs1.Message, err error)
	input() *control.Input
	close() error
}

func (s *surveillance) setup(context.Context) error {
	var err error
	if s.source, err = s.openSource(); err != nil {
		return err
	}
	s.stop = make(chan struct{})
	s.writer, err = publish[avionics.TrafficReport](s.process, TrafficReport, "Avionics::TrafficReport")
	return err
}

func (s *surveillance) openSource() (messages, error) {
	name := s.cfg.SBS1
	if name == "" {
		m := &syntheticTraffic{traffic: model.NewTraffic(s.cfg.Seed, s.cfg.Traffic)}
		if s.cfg.Speed == 0 {
			m.limit = scenario
		}
		return m, nil
	}
	if IsAddress(name) {
		src := sbs1.Dial(name, sbs1.DialOptions{GiveUp: s.cfg.GiveUp, Notify: func(text string) { s.note("%s", text) }})
		return &feed{source: src, name: name, live: true}, nil
	}
	src, err := sbs1.Open(name)
	if err != nil {
		return nil, err
	}
	return &feed{source: src, name: name}, nil
}

// IsAddress tells whether -sbs1 names a socket rather than a file: host:port, where no such file exists.
func IsAddress(name string) bool {
	if _, err := os.Stat(name); err == nil {
		return false
	}
	_, port, err := net.SplitHostPort(name)
	return err == nil && port != ""
}

func (s *surveillance) start(ctx context.Context) {
	go func() {
		err := s.listen(ctx)
		if err == nil {
			err = s.acknowledge(ctx)
		}
		if err != nil {
			s.fail(cause(ctx, err))
			return
		}
		s.send(control.Event{Kind: control.Done, Published: s.published()})
	}()
}

func (s *surveillance) command(ctx context.Context, c control.Command) {
	switch c.Kind {
	case control.Stop:
		closeOnce(s.stop)
	case control.Finish:
		go s.finish(ctx, c, s.source.input())
	}
}

// listen publishes until the feed ends or the conductor says so.
func (s *surveillance) listen(ctx context.Context) error {
	hearing, deaf := context.WithCancel(ctx)
	defer deaf()
	go func() {
		select {
		case <-s.stop:
			deaf()
		case <-hearing.Done():
		}
	}()
	defer func() { _ = s.source.close() }() // it was only read
	clock, from := newPacer(s.cfg.Speed), s.resumeAt()
	if f, ok := s.source.(*feed); ok && f.live {
		from = 0
	}
	for {
		offset, m, err := s.source.next(hearing)
		if err == io.EOF || hearing.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if offset < from {
			continue // it was said while there was nobody to hear it
		}
		if !clock.wait(ctx, s.stop, offset-from) {
			return ctx.Err()
		}
		r := s.reportOf(s.tracks.Apply(m))
		if err := s.writer.put(ctx, &r); err != nil {
			return err
		}
	}
}

// reportOf gives the report of a track. The bits of sbs1.Fields and those of the IDL's TRAFFIC_ constants are the same;
// a test holds them together.
func (s *surveillance) reportOf(t *sbs1.Track) avionics.TrafficReport {
	return avionics.TrafficReport{
		Icao: t.ICAO, Number: s.writer.next(), Heard: nanoseconds(t.Generated), Messages: uint32(t.Messages),
		TransmissionType: byte(t.Type), Known: uint16(t.Has), Updated: uint16(t.Updated),
		Callsign: t.Callsign, AltitudeFt: int32(t.AltitudeFt), GroundSpeedKt: float32(t.GroundSpeed), TrackDeg: float32(t.Message.Track),
		Latitude: t.Lat, Longitude: t.Lon, PositionHeard: nanoseconds(t.PositionAt), VerticalRateFpm: int32(t.VerticalRate),
		Squawk: t.Squawk, Alert: t.Alert, Emergency: t.Emergency, Ident: t.SPI, OnGround: t.OnGround,
	}
}

// nanoseconds gives 0 for a time that the feed did not tell.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// syntheticTraffic is that of package model.
type syntheticTraffic struct {
	traffic *model.Traffic
	limit   time.Duration // 0: none
}

func (t *syntheticTraffic) next(context.Context) (time.Duration, *sbs1.Message, error) {
	offset, m := t.traffic.Next()
	if t.limit > 0 && offset > t.limit {
		return 0, nil, io.EOF
	}
	return offset, m, nil
}

func (t *syntheticTraffic) input() *control.Input { return nil }
func (t *syntheticTraffic) close() error          { return nil }

// feed is an SBS-1 source. A recording is due by its stamps, of which those that step back count as the latest before;
// what a live source brings is due at once.
type feed struct {
	source sbs1.Source
	name   string
	live   bool
	first  time.Time
	latest time.Duration
	ended  bool
}

func (f *feed) next(ctx context.Context) (time.Duration, *sbs1.Message, error) {
	m, err := f.source.Next(ctx)
	if err != nil {
		f.ended = err == io.EOF
		return 0, nil, err
	}
	if f.live || m.Generated.IsZero() {
		return f.latest, m, nil
	}
	if f.first.IsZero() {
		f.first = m.Generated
	}
	f.latest = max(f.latest, m.Generated.Sub(f.first))
	return f.latest, m, nil
}

func (f *feed) input() *control.Input {
	st := f.source.Stats()
	in := &control.Input{
		What: f.name, Live: f.live, Read: st.Lines, Used: st.Messages, Skipped: st.Other, Malformed: st.Malformed,
		Resent: st.Resent, Connected: st.Connections, Complete: f.ended,
	}
	for _, m := range st.Named {
		in.Named = append(in.Named, m.String())
	}
	return in
}

func (f *feed) close() error { return f.source.Close() }
