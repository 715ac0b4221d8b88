package filter_test

import (
	"fmt"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/filter"
	"github.com/omg-dds-go/dds/xtypes"
)

var track = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
	Kind: xtypes.TKStructure, Name: "avionics::Track", Extensibility: cdr.Final,
	Members: []xtypes.Member{
		{Name: "icao", AutoID: true, Type: xtypes.NewString(6), Key: true},
		{Name: "altitude", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
	},
}))

func Example() {
	high, err := filter.New(track, "altitude >= %0 AND icao LIKE '48%'", "30000")
	if err != nil {
		fmt.Println(err)
		return
	}
	sample := []byte("\x00\x07\x00\x00" + // little-endian XCDR2
		"\x07\x00\x00\x004840D6\x00\x00" +
		"\x18\x79\x00\x00")
	fmt.Println(high.Match(sample))
	higher, err := high.With("35000")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(higher.Match(sample))
	// Output:
	// true
	// false
}

func ExampleError() {
	_, err := filter.New(track, "altitude > 1000 AND icoa = '4840D6'")
	fmt.Println(err)
	// Output:
	// filter: icoa is no member of avionics::Track; did you mean icao?
	// 	altitude > 1000 AND icoa = '4840D6'
	// 	                    ^~~~
}

func ExampleNewJoin() {
	plan := xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
		Kind: xtypes.TKStructure, Name: "avionics::Plan", Extensibility: cdr.Final,
		Members: []xtypes.Member{
			{Name: "icao", AutoID: true, Type: xtypes.NewString(6), Key: true},
			{Name: "destination", AutoID: true, Type: xtypes.NewString(0)},
		},
	}))
	types := func(topic string) (*xtypes.Type, error) {
		if topic == "Track" {
			return track, nil
		}
		return plan, nil
	}
	join, err := filter.NewJoin("SELECT icao AS id, destination FROM Track NATURAL JOIN Plan WHERE altitude < %0", types, nil, "Arrival", "3000")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(join.Topics())
	for m := range join.Type().Members() {
		fmt.Println(m.Name, m.Type, m.Key)
	}
	// Output:
	// [Track Plan]
	// id string<6> true
	// destination string false
}
