package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

const dialects = "../../qos/testdata/dialects/"

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "qos", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test -update writes it")
	assert.Equal(t, string(want), got)
}

// A file of every dialect loads, and every value says where it comes from.
func TestQosShowExplains(t *testing.T) {
	t.Setenv("TRACK_DEPTH", "6")
	for file, profile := range map[string]string{
		"standard.xml": "Radar::Tracks", "rti.xml": "Airport::Tracks", "fastdds.xml": "rt/track", "opendds.xml": "Alarms", "cyclone.xml": "Airport::Tracks",
		"../../qosyaml/testdata/airport.yaml": "Airport::Tracks",
	} {
		out, _ := call(t, exitOK, "qos", "show", dialects+file, profile, "--explain")
		golden(t, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))+".txt", strings.ReplaceAll(out, dialects, ""))
		for _, line := range strings.Split(out, "\n") {
			if strings.HasPrefix(line, "    ") {
				assert.Regexp(t, `:\d+:\d+ in `, line)
			}
		}
	}
}

func TestQosShow(t *testing.T) {
	out, _ := call(t, exitOK, "qos", "show", dialects+"standard.xml", "Radar::Tracks", "--topic", "Track7", "--entity", "writer", "--all", "--explain")
	assert.Contains(t, out, "datawriter_qos topic_filter Track*")
	assert.Regexp(t, `history/depth +16 .*standard.xml:29:18 in Radar::Tracks`, out)
	assert.Regexp(t, `durability/kind +VOLATILE +default`, out)
	assert.NotContains(t, out, "datareader_qos")

	out, _ = call(t, exitOK, "qos", "show", dialects+"standard.xml")
	assert.Contains(t, out, "Ground::Base\n", "all profiles of the file")

	out, _ = call(t, exitOK, "qos", "show", "rt/track", "-f", dialects+"fastdds.xml", "--entity", "reader")
	assert.Contains(t, out, "time_based_filter/minimum_separation  20ms")
	_, missing := call(t, exitFailure, "qos", "show", "no.xml")
	assert.Contains(t, missing, "open no.xml")

	out, _ = call(t, exitOK, "qos", "show", "BuiltinQosLib::Baseline")
	assert.Contains(t, out, "every policy has the default of the standard")

	out, _ = call(t, exitOK, "qos", "show", "Delivery::Logged", "--explain", "-o", "json")
	var shown []shownProfile
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	assert.Equal(t, "Delivery::Logged", shown[0].Profile)
	assert.Equal(t, "builtin.xml", strings.Split(shown[0].Elements[0].Settings[0].Place, ":")[0])

	out, errors := call(t, exitOK, "qos", "show", "Delivery::Logged", "--entity", "writer", "-o", "xml")
	assert.Contains(t, out, "<kind>PERSISTENT_DURABILITY_QOS</kind>")
	assert.NotContains(t, out, "base_name")
	assert.Contains(t, errors, "lost: consistency/kind of Delivery::Logged")
	out, _ = call(t, exitOK, "qos", "show", "Delivery::Logged", "--entity", "writer", "-o", "yaml")
	assert.Contains(t, out, "consistency: {kind: TOTAL_ORDER_DURABLE}")
}

func TestQosValidate(t *testing.T) {
	out, _ := call(t, exitCriteria, "qos", "validate", "../../qos/testdata/bad.xml", dialects+"cyclone.xml")
	for _, want := range []string{
		"bad.xml:6:28: ", "bad.xml:8:9: ", "bad.xml:11:31: ", "bad.xml:15:11: ", "bad.xml: 4 errors\n",
		"cyclone.xml: 1 profile, 2 warnings\n",
	} {
		assert.Contains(t, out, want)
	}
	out, _ = call(t, exitCriteria, "qos", "validate", "--strict", dialects+"cyclone.xml")
	assert.Contains(t, out, "<Writer_Batching> has no effect here")
	out, _ = call(t, exitCriteria, "qos", "validate", dialects+"cyclone-config.xml")
	assert.Contains(t, out, "this is a configuration of Cyclone DDS (CYCLONEDDS_URI), not QoS")
	_, errors := call(t, exitFailure, "qos", "validate", "no.xml")
	assert.Contains(t, errors, "no.xml")
}

func TestQosList(t *testing.T) {
	out, _ := call(t, exitOK, "qos", "list", dialects+"standard.xml", dialects+"rti.xml")
	assert.Contains(t, out, "Radar::Tracks  domain_participant, publisher, datawriter[Track*], datawriter::Log, datawriter, datareader\n")
	assert.Contains(t, out, "Airport::Tracks  domain_participant (default), topic (default), datawriter (default), datareader[Alarm?], datareader (default)\n")
	out, _ = call(t, exitOK, "qos", "list", "--builtin")
	assert.Contains(t, out, "Delivery::Atomic  topic, datawriter, datareader\n")
	t.Chdir(t.TempDir())
	_, errors := call(t, exitOK, "qos", "list")
	assert.Contains(t, errors, "--builtin lists those that need no file")
}

func TestQosCheck(t *testing.T) {
	out, _ := call(t, exitOK, "qos", "check", "ROS2::default", "ROS2::sensor_data")
	assert.Equal(t, "a writer of ROS2::default and a reader of ROS2::sensor_data match\n", out)
	out, _ = call(t, exitCriteria, "qos", "check", dialects+"fastdds.xml#rt/track", dialects+"standard.xml#Radar::Tracks", "--topic", "Track1")
	golden(t, "check.txt", strings.ReplaceAll(out, dialects, ""))
}

func TestQosDiff(t *testing.T) {
	out, _ := call(t, exitCriteria, "qos", "diff", "Radar::Base", "Radar::Tracks", "-f", dialects+"standard.xml", "--topic", "Track1")
	golden(t, "diff.txt", strings.ReplaceAll(out, dialects, ""))
	out, _ = call(t, exitOK, "qos", "diff", "Delivery::Atomic", "Delivery::Atomic")
	assert.Equal(t, "they say the same\n", out)
}

func TestQosConvert(t *testing.T) {
	for _, to := range []string{"standard", "rti", "fastdds", "yaml"} {
		out, errors := call(t, exitOK, "qos", "convert", dialects+"rti.xml", "--to", to)
		golden(t, "convert-"+to+".txt", out)
		assert.Equal(t, to == "fastdds" || to == "standard", strings.Contains(errors, "lost:"), "%s: %s", to, errors)
		_, _ = call(t, exitCriteria, "qos", "validate", "--strict", dialects+"rti.xml")

		file := filepath.Join(t.TempDir(), "out.yaml")
		if to != "yaml" {
			file = strings.TrimSuffix(file, "yaml") + "xml"
		}
		_, _ = call(t, exitOK, "qos", "convert", dialects+"rti.xml", "--to", to, "--output", file)
		again, _ := call(t, exitOK, "qos", "validate", "--strict", file)
		assert.Contains(t, again, ", 0 warnings", "%s: what is written has all its effect", to)
	}
	_, errors := call(t, exitCriteria, "qos", "convert", "--strict", "../../qos/testdata/good.xml", "--to", "fastdds")
	assert.Contains(t, errors, "lost: topic_filter Air* of Flight::Topics")
}

func TestQosWrongUse(t *testing.T) {
	for _, line := range []string{
		"qos spin", "qos show", "qos show a b c", "qos show a -o xsl", "qos show a --entity pump", "qos validate", "qos check A", "qos diff A B C",
		"qos convert a.xml", "qos convert a.xml --to sql", "qos convert --to yaml", "qos list --nothing",
	} {
		out, err := call(t, exitUsage, strings.Fields(line)...)
		assert.Contains(t, err, "--help", "%s: where to find help", line)
		assert.Len(t, strings.Split(strings.TrimSpace(err), "\n"), 2, "one clear line, and where to find help: %s", err)
		assert.Empty(t, out, line)
	}
	_, err := call(t, exitUsage, "qos", "check", "A")
	assert.Contains(t, err, "1 argument: say the profile of the writer, and that of the reader")
	_, err = call(t, exitFailure, "qos", "show", dialects+"opendds.xml", "Trakcs")
	assert.Contains(t, err, "did you mean Tracks?")
	_, err = call(t, exitFailure, "qos", "show", "../../qos/testdata/bad.xml", "Flight::Base")
	assert.Contains(t, err, "4 errors in ../../qos/testdata/bad.xml:\n../../qos/testdata/bad.xml:6:28: ")
}
