package qos

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inDirectory makes files with a profile of the same name in each, whose depth tells them apart, and goes there.
func inDirectory(t *testing.T, depths map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, depth := range depths {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		rewrite(t, name, depth, "")
	}
}

func TestLoadEnvironment(t *testing.T) {
	const inline = `str://"<dds><qos_library name='L'><qos_profile name="A"><datawriter_qos><history><depth>6</depth></history></datawriter_qos></qos_profile></qos_library></dds>"`
	for name, c := range map[string]struct {
		depths map[string]string
		env    map[string]string
		option string
		depth  int32
	}{
		"nothing":                          {depth: 1},
		"the user's file":                  {depths: map[string]string{UserProfiles: "2"}, depth: 2},
		"the variable before it":           {depths: map[string]string{UserProfiles: "2", "v.xml": "3"}, env: map[string]string{ProfilesVariable: "v.xml"}, depth: 3},
		"RTI's variable":                   {depths: map[string]string{UserProfiles: "2", "v.xml": "3"}, env: map[string]string{aliasVariable: "v.xml"}, depth: 3},
		"ours before RTI's":                {depths: map[string]string{"v.xml": "3", "r.xml": "4"}, env: map[string]string{ProfilesVariable: "v.xml", aliasVariable: "r.xml"}, depth: 3},
		"ours empty":                       {depths: map[string]string{"r.xml": "4"}, env: map[string]string{ProfilesVariable: "", aliasVariable: "r.xml"}, depth: 1},
		"the option before the variable":   {depths: map[string]string{"v.xml": "3", "o.xml": "5"}, env: map[string]string{ProfilesVariable: "v.xml"}, option: "o.xml", depth: 5},
		"a file that is named twice":       {depths: map[string]string{UserProfiles: "2", "a.xml": "3"}, option: "a.xml;./" + UserProfiles, depth: 2},
		"the last of a list":               {depths: map[string]string{"a.xml": "3", "d/b.xml": "4"}, option: "a.xml; file://d/b.xml;", depth: 4},
		"the first of a group that exists": {depths: map[string]string{"b.xml": "3", "c.xml": "4"}, option: "[no.xml | b.xml|c.xml]", depth: 3},
		"a document":                       {option: inline, depth: 6},
		"a document in a group and a list": {depths: map[string]string{"a.xml": "3"}, option: "a.xml;[no.xml|" + inline + "]", depth: 6},
	} {
		t.Run(name, func(t *testing.T) {
			inDirectory(t, c.depths)
			p := NewProvider(Options{LookupEnv: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }})
			require.NoError(t, p.LoadEnvironment(c.option))
			if c.depth == 1 {
				assert.Empty(t, p.Profiles())
				return
			}
			w, err := p.DataWriter("L::A", "")
			require.NoError(t, err)
			assert.Equal(t, c.depth, w.History.Depth)
			assert.Equal(t, []string{"L::A"}, p.Profiles())
		})
	}
}

func TestLoadEnvironmentErrors(t *testing.T) {
	inDirectory(t, nil)
	for option, want := range map[string]string{
		"no.xml":                  `qos: the option: "no.xml" does not exist: stat no.xml: no such file or directory; a group [a | b] takes the first file that does`,
		"[no.xml | neither]":      "qos: the option: none of no.xml, neither exists: file does not exist",
		"[no.xml":                 `qos: the option: "[no.xml": a group does not end with ]; write [a.xml | b.xml]`,
		`str://<dds/>`:            `qos: the option: "str://<dds/>": a document stands in quotes: str://"<dds>...</dds>"`,
		`str://"<dds/>`:           `qos: the option: "str://\"<dds/>": the document does not end with >"`,
		`str://"<dds><x/></dds>"`: "the option, item 1:1:6: dds/x: unknown element <x>; expected qos_library, types, domain_library, domain_participant_library, application_library, node_library or deployment_library",
	} {
		err := new(Provider).LoadEnvironment(option)
		assert.EqualError(t, err, want, option)
	}
	assert.ErrorIs(t, new(Provider).LoadEnvironment("no.xml"), fs.ErrNotExist)
}

// Later files refer to earlier ones, and say when they take the place of a profile.
func TestLoadEnvironmentDerives(t *testing.T) {
	inDirectory(t, map[string]string{UserProfiles: "2", "o.xml": "3"})
	require.NoError(t, os.WriteFile("d.xml", []byte(inLibrary(`<qos_profile name="B" base_name="A"/>`)), 0o600))
	var p Provider
	require.NoError(t, p.LoadEnvironment("d.xml;o.xml"))
	for name, depth := range map[string]int32{"L::A": 3, "L::B": 2} {
		w, err := p.DataWriter(name, "")
		require.NoError(t, err)
		assert.Equal(t, depth, w.History.Depth, name)
	}
	require.Len(t, p.Warnings(), 1)
	assert.EqualError(t, p.Warnings()[0], "o.xml:1:28: L::A: profile L::A takes the place of the one at "+UserProfiles+":1:28")
}

// A list of files is whatever somebody wrote into a variable.
func FuzzSources(f *testing.F) {
	f.Add("a.xml;[b|c]; file://d")
	f.Add(`str://"<dds a=";"/>";[str://"<dds/>" | x]`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		t.Chdir(t.TempDir())
		sources, err := parseSources("the test", text)
		if err != nil {
			return
		}
		for _, s := range sources {
			if s.name == "" || s.file && s.text != "" {
				t.Fatalf("%q gives the source %+v", text, s)
			}
		}
	})
}
