package qos

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// values are all settings of all elements of a profile, without their origins.
func values(t *testing.T, p *Provider, name string) map[string]string {
	t.Helper()
	found, _, err := p.contents().find(name)
	require.NoError(t, err)
	out := map[string]string{}
	for _, e := range found.visible {
		for _, s := range e.settings(e.kind) {
			out[e.kind.String()+"["+e.name+"]["+e.filter+"]/"+s.Path] = s.Value
		}
	}
	return out
}

var dialectFiles = []string{"standard.xml", "rti.xml", "fastdds.xml", "opendds.xml", "cyclone.xml"}

// What is written in a dialect reads as the same values, but for what is said to be lost.
func TestWriteXML(t *testing.T) {
	for _, file := range dialectFiles {
		p := NewProvider(Options{LookupEnv: noVariables})
		require.NoError(t, p.LoadFile(filepath.Join("testdata", "dialects", file)))
		for d, suffix := range map[Dialect]string{DialectStandard: "standard", DialectRTI: "rti"} {
			var out bytes.Buffer
			lost, err := p.WriteXML(&out, d)
			require.NoError(t, err)
			q := NewProvider(Options{LookupEnv: noVariables})
			require.NoError(t, q.Load("out.xml", &out), file)
			for i, name := range p.Profiles() {
				want := values(t, p, name)
				got := values(t, q, q.Profiles()[i])
				for path, v := range want {
					if strings.HasSuffix(path, "/consistency/kind") && v != "AUTO" {
						assert.Contains(t, strings.Join(lost, "\n"), "consistency/kind of "+name)
						continue
					}
					assert.Equal(t, v, got[path], "%s as %s: %s of %s", file, suffix, path, name)
				}
				assert.Len(t, got, len(want))
			}
		}
	}
}

func TestWriteFastDDS(t *testing.T) {
	for _, file := range dialectFiles {
		p := NewProvider(Options{LookupEnv: noVariables})
		path := filepath.Join("testdata", "dialects", file)
		require.NoError(t, p.LoadFile(path))
		var out bytes.Buffer
		lost, err := p.WriteXML(&out, DialectFastDDS)
		require.NoError(t, err)
		text := out.String()
		var q Provider
		require.NoError(t, q.Load("out.xml", &out), "%s\n%s", file, text)
		for _, name := range p.Profiles() {
			want, err := p.DataWriter(name, "")
			require.NoError(t, err)
			if e := p.contents().profiles[name].serves[kindWriter]; e == nil || e.name != "" {
				continue // there it has another name
			}
			got, err := q.DataWriter(strings.ReplaceAll(name, "::", "."), "")
			require.NoError(t, err)
			for _, change := range changes(want.policies(), got.policies()) {
				assert.Contains(t, strings.Join(lost, "\n"), strings.ToLower(change.Policy.String()), "%s: %s: %v", file, name, change)
			}
		}
		golden(t, strings.TrimSuffix(path, ".xml")+".fast.golden", text+"lost:\n"+strings.Join(lost, "\n")+"\n")
	}
}

func TestWriteErrors(t *testing.T) {
	_, err := new(Provider).WriteXML(&bytes.Buffer{}, 9)
	assert.ErrorContains(t, err, "dialect 9 is none")
	var p *Provider
	_, err = p.WriteXML(&bytes.Buffer{}, DialectStandard)
	assert.ErrorContains(t, err, "the Provider is nil")
}

// A dollar sign in a name is not a variable when it is read again.
func TestWriteDollar(t *testing.T) {
	p := mustLoad(t, inLibrary(`<qos_profile name="A"><publisher_qos><partition><name><element>a&amp;b$${HOME}</element></name></partition></publisher_qos></qos_profile>`))
	var out bytes.Buffer
	_, err := p.WriteXML(&out, DialectStandard)
	require.NoError(t, err)
	q, err := Load("out.xml", &out)
	require.NoError(t, err)
	pub, err := q.Publisher("L::A")
	require.NoError(t, err)
	assert.Equal(t, []string{"a&b${HOME}"}, pub.Partition.Name)
}
