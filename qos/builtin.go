package qos

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// builtinXML holds the profiles that are there without a file.
//
//go:embed builtin.xml
var builtinXML string

type builtins struct {
	profiles map[string]*profile
	order    []string
}

// loadBuiltin reads them once. A program whose own profiles can not be read is broken, and TestBuiltin would have said so.
var loadBuiltin = sync.OnceValue(func() builtins {
	l, err := load(input{name: "builtin.xml", r: strings.NewReader(builtinXML)}, nil, nil)
	if err != nil {
		panic(fmt.Sprintf("qos: built-in profiles: %v", err))
	}
	return builtins{l.profiles, l.order}
})

func builtin() map[string]*profile { return loadBuiltin().profiles }

// BuiltinProfiles lists the names of the profiles that every Provider knows without a file: those of RTI Connext, the
// presets of ROS 2, and the four levels of delivery of this DDS. A file may define a profile of the same name, which then
// counts in its place.
func BuiltinProfiles() []string { return slices.Clone(loadBuiltin().order) }
