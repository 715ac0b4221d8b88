package qos_test

import (
	"fmt"
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
