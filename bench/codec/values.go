package main

import (
	"google.golang.org/protobuf/proto"

	"github.com/omg-dds-go/dds/bench/codec/pb"
	"github.com/omg-dds-go/dds/bench/codec/wire"
)

// The values, which peers/agent/agent.h has, too.
const (
	stamp    = 1763769600000000000
	blobSize = 10240
	fixes    = 1000
	counters = 8
)

var stringLengths = [...]int{8, 16, 24, 32, 64, 128, 256, 408}

func text(i int) string {
	b := make([]byte, stringLengths[i])
	for j := range b {
		b[j] = byte('a' + (7*j+i)%26)
	}
	return string(b)
}

func flat() *wire.Flat {
	return &wire.Flat{Time: stamp, Lat: 47.5, Lon: 8.25, Alt: 10000, North: 200.5, East: -30.25, Down: 0.125, Heading: 351.5,
		Track: -4711, SequenceNumber: 123456789, Rate: 50, Squawk: 7000, Kind: 3, Ground: true}
}

func texts() *wire.Text {
	return &wire.Text{Time: stamp, Value: 0.5, Status: -1, Callsign: text(0), Origin: text(1), Destination: text(2),
		OperatorName: text(3), Route: text(4), Procedure: text(5), Weather: text(6), Remarks: text(7)}
}

func blob() *wire.Blob {
	b := &wire.Blob{Time: stamp, Data: make([]byte, blobSize)}
	for i := range b.Data {
		b.Data[i] = byte(31*i + 7)
	}
	return b
}

func route() *wire.Route {
	r := &wire.Route{Time: stamp, Fixes: make([]wire.Fix, fixes)}
	for i := range r.Fixes {
		f := float64(i)
		r.Fixes[i] = wire.Fix{X: f + 0.25, Y: -1 - f, Z: 1000 - 0.5*f, Quality: 0.125 * float32(i), Source: int32(i % 16)}
	}
	return r
}

func status() *wire.Status {
	s := &wire.Status{Time: stamp, Unit: 42, Temperature: new(21.5), Fuel: new(float32(0.75)), Armed: new(true),
		Note: new(text(2)), Counters: new(make([]int32, counters))}
	for i := range *s.Counters {
		(*s.Counters)[i] = int32(-i)
	}
	return s
}

// What follows are the same values as protobuf has them.

func flatPB() proto.Message {
	v := flat()
	return &pb.Flat{Time: v.Time, Lat: v.Lat, Lon: v.Lon, Alt: v.Alt, North: v.North, East: v.East, Down: v.Down, Heading: v.Heading,
		Track: v.Track, SequenceNumber: v.SequenceNumber, Rate: v.Rate, Squawk: uint32(v.Squawk), Kind: uint32(v.Kind), Ground: v.Ground}
}

func textPB() proto.Message {
	v := texts()
	return &pb.Text{Time: v.Time, Value: v.Value, Status: v.Status, Callsign: v.Callsign, Origin: v.Origin, Destination: v.Destination,
		OperatorName: v.OperatorName, Route: v.Route, Procedure: v.Procedure, Weather: v.Weather, Remarks: v.Remarks}
}

func blobPB() proto.Message {
	v := blob()
	return &pb.Blob{Time: v.Time, Data: v.Data}
}

func routePB() proto.Message {
	v := route()
	r := &pb.Route{Time: v.Time}
	for _, f := range v.Fixes {
		r.Fixes = append(r.Fixes, &pb.Fix{X: f.X, Y: f.Y, Z: f.Z, Quality: f.Quality, Source: f.Source})
	}
	return r
}

func statusPB() proto.Message {
	v := status()
	return &pb.Status{Time: v.Time, Unit: v.Unit, Temperature: v.Temperature, Fuel: v.Fuel, Armed: v.Armed, Note: v.Note, Counters: *v.Counters}
}
