package qos_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/qos"
)

func ExampleCompatible() {
	offered, requested := qos.DefaultDataWriter(), qos.DefaultDataReader()
	offered.Reliability.Kind = qos.ReliabilityBestEffort
	requested.Reliability.Kind = qos.ReliabilityReliable
	offered.Deadline.Period, requested.Deadline.Period = 2*time.Second, time.Second
	for _, i := range qos.Compatible(offered, requested, qos.DefaultPublisher(), qos.DefaultSubscriber()) {
		fmt.Println(i)
	}
	// Output:
	// DEADLINE offered 2s requested 1s
	// RELIABILITY offered BEST_EFFORT requested RELIABLE
}

func ExampleLoad() {
	_, err := qos.Load("qos.xml", strings.NewReader(`<dds>
  <qos_library name="Lib">
    <qos_profile name="Fast" base_name="Base">
      <datawriter_qos><reliability><kind>RELIABLE</kind></reliability></datawriter_qos>
    </qos_profile>
    <qos_profile name="Base"/>
  </qos_library>
</dds>`))
	fmt.Println(err)
	// Output:
	// qos.xml:3:30: Lib::Fast: base_name "Base" is defined only later, at qos.xml:6:5; move Lib::Base above Lib::Fast
	// qos.xml:4:42: Lib::Fast/datawriter_qos/reliability/kind: unknown value "RELIABLE" of <kind>; did you mean RELIABLE_RELIABILITY_QOS?
}

func ExampleProvider_Explain() {
	p, err := qos.Load("qos.xml", strings.NewReader(`<dds>
  <qos_library name="Lib">
    <qos_profile name="Base">
      <datawriter_qos><reliability><kind>RELIABLE_RELIABILITY_QOS</kind></reliability></datawriter_qos>
    </qos_profile>
    <qos_profile name="Fast" base_name="Base">
      <datawriter_qos><history><depth>5</depth></history></datawriter_qos>
    </qos_profile>
  </qos_library>
</dds>`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := p.Explain("Lib::Fast")
	fmt.Print(text)
	fmt.Println(err)
	// Output:
	// Lib::Fast
	//   datawriter_qos
	//     reliability/kind  RELIABLE  qos.xml:4:36, inherited from Lib::Base
	//     history/depth     5         qos.xml:7:32
	// <nil>
}

// A profile of Fast DDS, written as the standard has it.
func ExampleProvider_WriteXML() {
	p, err := qos.Load("fastdds.xml", strings.NewReader(`<profiles>
  <data_writer profile_name="track">
    <topic><historyQos><kind>KEEP_LAST</kind><depth>5</depth></historyQos></topic>
    <qos><reliability><kind>RELIABLE</kind></reliability></qos>
  </data_writer>
</profiles>`))
	if err != nil {
		fmt.Println(err)
		return
	}
	lost, err := p.WriteXML(os.Stdout, qos.DialectStandard)
	fmt.Println(lost, err)
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <dds xmlns="http://www.omg.org/spec/DDS-XML">
	//   <qos_library name="Profiles">
	//     <qos_profile name="track">
	//       <datawriter_qos>
	//         <reliability><kind>RELIABLE_RELIABILITY_QOS</kind></reliability>
	//         <history><kind>KEEP_LAST_HISTORY_QOS</kind><depth>5</depth></history>
	//       </datawriter_qos>
	//     </qos_profile>
	//   </qos_library>
	// </dds>
	// [] <nil>
}

// What a running writer takes over of another QoS, and what needs a new one.
func ExampleDataWriter_Apply() {
	now := qos.DefaultDataWriter()
	next := now
	next.Deadline.Period = time.Second
	next.History.Depth = 8
	now, changes := now.Apply(next)
	for _, c := range changes {
		fmt.Println(c, c.Changeable())
	}
	fmt.Println(now.Deadline, now.History)
	// Output:
	// DEADLINE from INFINITE to 1s true
	// HISTORY from KEEP_LAST 1 to KEEP_LAST 8 false
	// 1s KEEP_LAST 1
}

// Each value says what set it, or that it is the default of the standard.
func ExampleProvider_Settings() {
	var p qos.Provider
	settings, err := p.Settings(qos.EntityDataReader, "ROS2::sensor_data", "")
	for _, s := range settings {
		if s.Policy == qos.PolicyHistory || s.Policy == qos.PolicyDeadline {
			fmt.Println(s.Path, s.Value, "-", s.Origin)
		}
	}
	fmt.Println(err)
	// Output:
	// deadline/period INFINITE - default
	// history/kind KEEP_LAST - builtin.xml:42:99 in ROS2::sensor_data
	// history/depth 5 - builtin.xml:42:133 in ROS2::sensor_data
	// <nil>
}
