package main

import (
	"os"
	"strings"
	"testing"
)

func TestConvert(t *testing.T) {
	inDir(t, map[string]string{"track.idl": track, "demo/msg/Track.msg": "float64 altitude", "wrong.xml": "<types><struct name='S'>\n\t\t<member name=\"a\" type=\"lung\"/>\n\t\t<member name='b' type='nonBasic' nonBasicTypeName = '\nT'/></struct></types>", "two.idl": "struct A { long a; }; struct B { A a; };"})
	for _, c := range []struct {
		args   []string
		status int
		want   string // in the output, or in what is reported
	}{
		{[]string{"-to", "idl", "track.idl"}, 0, "  @appendable struct Track {\n    @key unsigned long icao;\n    string<8> callsign;\n"},
		{[]string{"-to", "xml", "track.idl"}, 0, `<member name="icao" type="uint32" key="true"></member>`},
		{[]string{"-to", "jsonschema", "track.idl"}, 0, `"$ref": "#/$defs/flight::Track"`},
		{[]string{"-to", "typeobject", "track.idl"}, 0, "struct flight::Track\n  EK_MINIMAL "},
		{[]string{"-to", "jsonschema", "-type", "A", "two.idl"}, 0, `"$ref": "#/$defs/A"`},
		{[]string{"-to", "jsonschema", "two.idl"}, 1, "idlgen: two.idl: a JSON Schema is of one type; name it with -type: A, B"},
		{[]string{"-to", "idl", "-type", "C", "two.idl"}, 1, "there is no type C; there are A, B"},
		{[]string{"-to", "c", "track.idl"}, 2, "write go, idl, xml, jsonschema or typeobject"},
		{[]string{"-from", "c", "track.idl"}, 2, "write idl, xml or ros2"},
		{[]string{"-from", "xml", "track.idl"}, 1, "track.idl:"},
		{[]string{"-from", "xml", "wrong.xml"}, 1, "wrong.xml:2:26: <struct name=\"S\">: type=\"lung\" is no type; did you mean long?\n    2 | \t\t<member name=\"a\" type=\"lung\"/>\n      | \t\t                       ^\n" +
			"wrong.xml:3:56: <struct name=\"S\">: there is no type \"T\"; did you mean S?\n    3 | "},
		{[]string{"-from", "xml", "-to", "idl", "wrong.xml"}, 1, "wrong.xml:2:26: <struct"},
		{[]string{"-from", "ros2", "track.idl"}, 1, "track.idl: -from ros2 reads .msg, .srv and .action files"},
		{[]string{"demo/msg/Track.msg"}, 1, "demo/msg/Track.msg: -from ros2 reads .msg"},
		{[]string{"-from", "ros2", "-to", "idl", "demo/msg/Track.msg"}, 0, "module demo {\n  module msg {\n    module dds_ {\n      @final struct Track_ {\n        double altitude;\n"},
		{[]string{"-from", "ros2", "-o", "out", "demo/msg/Track.msg"}, 0, ""},
		{[]string{"-from", "ros2", "-check", "-o", "out", "demo/msg/Track.msg"}, 0, ""},
		{[]string{"-from", "xml", "absent.xml"}, 1, "absent.xml"},
	} {
		got := idlgen(c.args...)
		if got.status != c.status || !strings.Contains(got.stdout+got.stderr, c.want) {
			t.Errorf("idlgen %v: status %d, want %d\n%s%s\nwant %s", c.args, got.status, c.status, got.stdout, got.stderr, c.want)
		}
	}
}

// A file that goes from IDL to XML and from there to Go gives the same Go.
func TestGoFromXML(t *testing.T) {
	inDir(t, map[string]string{"idl/track.idl": track})
	for _, args := range [][]string{
		{"-o", "idl", "idl/track.idl"},
		{"-to", "xml", "-o", "xml", "idl/track.idl"},
		{"-from", "xml", "-o", "xml", "xml/track.xml"},
	} {
		if got := idlgen(args...); got.status != 0 {
			t.Fatalf("idlgen %v: %s", args, got.stderr)
		}
	}
	want, err := os.ReadFile("idl/track_idl.go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("xml/track_idl.go")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := withoutComments(want), withoutComments(got); a != b { // DDS-XML has none
		t.Errorf("line %d differs\n%s", firstDifference([]byte(a), []byte(b)), b)
	}
	if s := idlgen("-check", "-to", "xml", "-o", "xml", "idl/track.idl"); s.status != 0 {
		t.Errorf("-check: %s", s.stderr)
	}
}

func withoutComments(code []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(code)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "//") {
			b.WriteString(line)
		}
	}
	return b.String()
}
