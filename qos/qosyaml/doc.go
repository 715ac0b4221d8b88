// Package qosyaml reads and writes QoS profiles as YAML. Import it for its effect, and every function of package qos that
// reads a file takes YAML too, told by its ending (.yaml, .yml, and .json, which is YAML as well):
//
//	import _ "github.com/omg-dds-go/dds/qos/qosyaml"
//
//	p, err := qos.LoadFile("qos.yaml")
//
// It is a package of its own so that programs without it do not link a parser of YAML.
//
// The names are those of the standard's XML. Values are spelled as they print:
//
//	qos_library:
//	  Airport:                                  # a library
//	    Base:                                   # a profile
//	      is_default_qos: true
//	      datawriter_qos:
//	        reliability: {kind: RELIABLE, max_blocking_time: 250ms}
//	        history: {kind: KEEP_LAST, depth: 4}
//	      publisher_qos:
//	        partition: {name: [tower, apron/*]}
//	    Tracks:
//	      base_name: [Base, "Delivery::Atomic"] # one, or several
//	      datawriter_qos:                       # one, or several
//	        - topic_filter: Track*
//	          deadline: {period: 2s}
//	        - resource_limits: {max_samples: UNLIMITED}
//
// Errors say file, line and column as those of XML do, all in one pass. Variables (${NAME}) are expanded; anchors, aliases and
// merge keys of YAML are refused, because profiles inherit with base_name, which is explained and checked.
package qosyaml
