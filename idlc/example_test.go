package idlc_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/omg-dds-go/dds/idlc"
)

func ExampleCompile() {
	source := `
module flight {
  // What a radar knows of an aircraft.
  @final struct Track { @key unsigned long icao; double altitude; };
};`
	files, report := idlc.Compile("track.idl", idlc.Options{ReadFile: func(string) ([]byte, error) { return []byte(source), nil }})
	fmt.Print(report)
	code := string(files[0].Content)
	fmt.Println(files[0].Path)
	fmt.Println(code[strings.Index(code, "// What"):strings.Index(code, "var ")])
	// Output:
	// track_idl.go
	// // What a radar knows of an aircraft.
	// type Track struct {
	// 	// Key.
	// 	Icao     uint32  `json:"icao"`
	// 	Altitude float64 `json:"altitude"`
	// }
}

func ExampleReport() {
	source := `
struct Track {
  @key unsinged long icao;
  sequence<double, 0> altitudes;
};
const octet LIMIT = 256;`
	_, report := idlc.Compile("track.idl", idlc.Options{ReadFile: func(name string) ([]byte, error) {
		if name != "track.idl" {
			return nil, os.ErrNotExist
		}
		return []byte(source), nil
	}})
	fmt.Print(report)
	// Output:
	// track.idl:3:22: unexpected "icao", expected ";"; did you mean unsigned?
	// track.idl:4:20: bound must be at least 1, not 0
	// track.idl:6:21: 256 does not fit into octet, which holds 0 to 255
}
