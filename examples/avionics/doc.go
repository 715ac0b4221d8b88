// Command avionics is a small avionics system of real operating-system processes that talk through DDS, on recorded or
// made-up flight data, and that check whether the middleware kept its promises. Run it with -h, or see README.md.
//
// main.go only decides who this process is: the conductor (internal/conductor), or one of the processes that the
// conductor starts (internal/roles).
//
//	avionics.idl         the types            -> internal/avionics (generated)
//	qos.xml              the QoS              which selects how each topic travels
//	internal/conductor   processes, pipes, signals, the order of a run
//	internal/roles       what each process does, on dcps and qos alone
//	internal/report      the table and the verdict
//	internal/order       completeness, order, digests
//	internal/ledger      what processes told before they were killed, compared
//	internal/sbs1 igc    recorded and live input; internal/recording opens the files
//	internal/model       synthetic input
package main
