package main

import (
	"github.com/omg-dds-go/dds/bench/codec/wire"
	"github.com/omg-dds-go/dds/cdr"
)

const (
	ours   = "dds-go"
	xcdr1  = 1
	xcdr2  = 2
	roomy  = 64 << 10 // bytes for any of the samples
	middle = fixes / 2
)

// subject is a case for our codec.
type subject struct {
	name   string
	value  cdr.Message
	fresh  cdr.Message                               // to decode into
	build  func(buf []byte) (int, error)             // in place, without a value
	write  func(buf []byte) (int, error)             // by the writer that descends, without a value
	view   func(sample []byte) error                 // checks the sample, and keeps the view for access
	access func() bool                               // reads members through the view; false if one is wrong
	load   func(sample []byte) (func() bool, string) // what access does, by hand, at known offsets; may be nil
	reads  string                                    // what access reads
}

// encapsulation is how a type is encoded in a version of XCDR.
func encapsulation(t *cdr.TypeInfo, version int) cdr.Encapsulation {
	switch {
	case version == xcdr2:
		return cdr.DefaultEncapsulation(t)
	case t.Extensibility == cdr.Mutable:
		return cdr.PLCDRLE
	}
	return cdr.CDRLE
}

// sample is the value in a version of XCDR.
func (s *subject) sample(version int) ([]byte, error) {
	return cdr.Marshal(s.value, encapsulation(s.value.CDRType(), version))
}

// operations lists what is measured of ours.
func (s *subject) operations() ([]operation, error) {
	buf := make([]byte, roomy)
	var list []operation
	for _, version := range []int{xcdr2, xcdr1} {
		enc := encapsulation(s.value.CDRType(), version)
		sample, err := s.sample(version)
		if err != nil {
			return nil, err
		}
		suffix := map[int]string{xcdr2: "", xcdr1: ", XCDR1"}[version]
		list = append(list,
			operation{s.name, write, ours, "encode" + suffix, len(sample), inGo(func() error {
				_, err := cdr.MarshalTo(buf, s.value, enc)
				return err
			})},
			operation{s.name, read, ours, "decode" + suffix, len(sample), inGo(func() error { return cdr.Unmarshal(sample, s.fresh) })},
		)
	}
	sample, err := s.sample(xcdr2)
	if err != nil {
		return nil, err
	}
	built, err := s.build(buf)
	if err != nil {
		return nil, err
	}
	list = append(list,
		operation{s.name, write, ours, "in place", built, inGo(func() error {
			_, err := s.build(buf)
			return err
		})},
		operation{s.name, write, ours, "writer", len(sample), inGo(func() error {
			_, err := s.write(buf)
			return err
		})},
		operation{s.name, read, ours, "view", len(sample), inGo(func() error { return s.view(sample) })},
		operation{s.name, access, ours, "view: " + s.reads, len(sample), inGo(func() error {
			if !s.access() {
				return errWrong
			}
			return nil
		})},
	)
	if s.load != nil {
		load, how := s.load(sample)
		list = append(list, operation{s.name, access, "Go", how, len(sample), inGo(func() error {
			if !load() {
				return errWrong
			}
			return nil
		})})
	}
	return list, nil
}

func subjects() []*subject {
	return []*subject{flatSubject(), textSubject(), blobSubject(), routeSubject(), statusSubject()}
}

func flatSubject() *subject {
	v := flat()
	var view wire.FlatView
	return &subject{
		name: "Flat", value: v, fresh: &wire.Flat{}, reads: "14 members",
		build: func(buf []byte) (int, error) {
			b := wire.NewFlatBuilder(buf)
			b.SetTime(v.Time)
			b.SetLat(v.Lat)
			b.SetLon(v.Lon)
			b.SetAlt(v.Alt)
			b.SetNorth(v.North)
			b.SetEast(v.East)
			b.SetDown(v.Down)
			b.SetHeading(v.Heading)
			b.SetTrack(v.Track)
			b.SetSequenceNumber(v.SequenceNumber)
			b.SetRate(v.Rate)
			b.SetSquawk(v.Squawk)
			b.SetKind(v.Kind)
			b.SetGround(v.Ground)
			return b.Finish()
		},
		write: func(buf []byte) (int, error) {
			var s cdr.Stream
			w := wire.NewFlatWriter(&s, buf, cdr.CDR2LE)
			w.SetTime(v.Time)
			w.SetLat(v.Lat)
			w.SetLon(v.Lon)
			w.SetAlt(v.Alt)
			w.SetNorth(v.North)
			w.SetEast(v.East)
			w.SetDown(v.Down)
			w.SetHeading(v.Heading)
			w.SetTrack(v.Track)
			w.SetSequenceNumber(v.SequenceNumber)
			w.SetRate(v.Rate)
			w.SetSquawk(v.Squawk)
			w.SetKind(v.Kind)
			w.SetGround(v.Ground)
			return w.Finish()
		},
		view: func(sample []byte) (err error) {
			view, err = wire.NewFlatView(sample)
			return err
		},
		access: func() bool {
			return view.Time() == stamp && view.Lat() == 47.5 && view.Lon() == 8.25 && view.Alt() == 10000 &&
				view.North() == 200.5 && view.East() == -30.25 && view.Down() == 0.125 && view.Heading() == 351.5 &&
				view.Track() == -4711 && view.SequenceNumber() == 123456789 && view.Rate() == 50 && view.Squawk() == 7000 &&
				view.Kind() == 3 && view.Ground()
		},
		load: func(sample []byte) (func() bool, string) {
			b := sample[cdr.HeaderSize:]
			return func() bool {
				return cdr.GetUint64(b) == stamp && cdr.GetFloat64(b[8:]) == 47.5 && cdr.GetFloat64(b[16:]) == 8.25 &&
					cdr.GetFloat64(b[24:]) == 10000 &&
					cdr.GetFloat32(b[32:]) == 200.5 && cdr.GetFloat32(b[36:]) == -30.25 && cdr.GetFloat32(b[40:]) == 0.125 &&
					cdr.GetFloat32(b[44:]) == 351.5 &&
					cdr.GetInt32(b[48:]) == -4711 && cdr.GetUint32(b[52:]) == 123456789 && cdr.GetInt32(b[56:]) == 50 &&
					cdr.GetUint16(b[60:]) == 7000 &&
					b[62] == 3 && b[63] != 0
			}, "14 loads by hand"
		},
	}
}

func textSubject() *subject {
	v := texts()
	var view wire.TextView
	return &subject{
		name: "Text", value: v, fresh: &wire.Text{}, reads: "11 members",
		build: func(buf []byte) (int, error) {
			b := wire.NewTextBuilder(buf)
			b.SetTime(v.Time)
			b.SetValue(v.Value)
			b.SetStatus(v.Status)
			b.SetCallsign(v.Callsign)
			b.SetOrigin(v.Origin)
			b.SetDestination(v.Destination)
			b.SetOperatorName(v.OperatorName)
			b.SetRoute(v.Route)
			b.SetProcedure(v.Procedure)
			b.SetWeather(v.Weather)
			b.SetRemarks(v.Remarks)
			return b.Finish()
		},
		write: func(buf []byte) (int, error) {
			var s cdr.Stream
			w := wire.NewTextWriter(&s, buf, cdr.CDR2LE)
			w.SetTime(v.Time)
			w.SetValue(v.Value)
			w.SetStatus(v.Status)
			w.SetCallsign(v.Callsign)
			w.SetOrigin(v.Origin)
			w.SetDestination(v.Destination)
			w.SetOperatorName(v.OperatorName)
			w.SetRoute(v.Route)
			w.SetProcedure(v.Procedure)
			w.SetWeather(v.Weather)
			w.SetRemarks(v.Remarks)
			return w.Finish()
		},
		view: func(sample []byte) (err error) {
			view, err = wire.NewTextView(sample)
			return err
		},
		access: func() bool {
			return view.Time() == stamp && view.Value() == 0.5 && view.Status() == -1 &&
				len(view.Callsign()) == 8 && len(view.Origin()) == 16 && len(view.Destination()) == 24 && len(view.OperatorName()) == 32 &&
				len(view.Route()) == 64 && len(view.Procedure()) == 128 && len(view.Weather()) == 256 && len(view.Remarks()) == 408
		},
	}
}

func blobSubject() *subject {
	v := blob()
	var view wire.BlobView
	return &subject{
		name: "Blob", value: v, fresh: &wire.Blob{}, reads: "2 members",
		build: func(buf []byte) (int, error) {
			b := wire.NewBlobBuilder(buf)
			b.SetTime(v.Time)
			b.SetData(v.Data)
			return b.Finish()
		},
		write: func(buf []byte) (int, error) {
			var s cdr.Stream
			w := wire.NewBlobWriter(&s, buf, cdr.CDR2LE)
			w.SetTime(v.Time)
			w.SetData(v.Data)
			return w.Finish()
		},
		view: func(sample []byte) (err error) {
			view, err = wire.NewBlobView(sample)
			return err
		},
		access: func() bool { return view.Time() == stamp && len(view.Data()) == blobSize },
	}
}

func routeSubject() *subject {
	v := route()
	var view wire.RouteView
	return &subject{
		name: "Route", value: v, fresh: &wire.Route{}, reads: "a member of each of 1,000",
		build: func(buf []byte) (int, error) {
			b := wire.NewRouteBuilder(buf)
			b.SetTime(v.Time)
			b.SetFixes(v.Fixes)
			return b.Finish()
		},
		write: func(buf []byte) (int, error) {
			var s cdr.Stream
			w := wire.NewRouteWriter(&s, buf, cdr.CDR2LE)
			w.SetTime(v.Time)
			w.BeginFixes(len(v.Fixes))
			for i := range v.Fixes {
				f := w.NextFixes()
				f.SetX(v.Fixes[i].X)
				f.SetY(v.Fixes[i].Y)
				f.SetZ(v.Fixes[i].Z)
				f.SetQuality(v.Fixes[i].Quality)
				f.SetSource(v.Fixes[i].Source)
				f.End()
			}
			return w.Finish()
		},
		view: func(sample []byte) (err error) {
			view, err = wire.NewRouteView(sample)
			return err
		},
		access: func() bool {
			sum := 0.0
			fixes := view.Fixes()
			for i := range fixes.Len() {
				v := fixes.At(i)
				sum += v.Y()
			}
			return sum == -500500
		},
		load: func(sample []byte) (func() bool, string) {
			b := sample[cdr.HeaderSize+16:]
			return func() bool {
				sum := 0.0
				for i := range fixes {
					sum += cdr.GetFloat64(b[32*i+8:])
				}
				return sum == -500500
			}, "1,000 loads by hand"
		},
	}
}

func statusSubject() *subject {
	v := status()
	var view wire.StatusView
	return &subject{
		name: "Status", value: v, fresh: &wire.Status{}, reads: "7 members",
		build: func(buf []byte) (int, error) {
			b := wire.NewStatusBuilder(buf)
			b.SetTime(v.Time)
			b.SetUnit(v.Unit)
			b.SetTemperature(v.Temperature)
			b.SetFuel(v.Fuel)
			b.SetArmed(v.Armed)
			b.SetNote(v.Note)
			b.SetCounters(v.Counters)
			return b.Finish()
		},
		write: func(buf []byte) (int, error) {
			var s cdr.Stream
			w := wire.NewStatusWriter(&s, buf, cdr.PLCDR2LE)
			w.SetTime(v.Time)
			w.SetUnit(v.Unit)
			w.SetTemperature(*v.Temperature)
			w.SetFuel(*v.Fuel)
			w.SetArmed(*v.Armed)
			w.SetNote(*v.Note)
			w.SetCounters(*v.Counters)
			return w.Finish()
		},
		view: func(sample []byte) (err error) {
			view, err = wire.NewStatusView(sample)
			return err
		},
		access: func() bool {
			temperature, _ := view.Temperature()
			fuel, _ := view.Fuel()
			armed, _ := view.Armed()
			note, _ := view.Note()
			list, ok := view.Counters()
			return view.Time() == stamp && view.Unit() == 42 && temperature == 21.5 && fuel == 0.75 && armed && len(note) == 24 &&
				ok && list.Len() == counters
		},
	}
}
