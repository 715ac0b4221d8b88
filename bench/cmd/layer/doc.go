// Command layer measures what the DDS layer costs: samples through DataWriter and DataReader against messages of the
// same size through the core, in turns, in one process with two nodes.
//
//	$ go run ./bench/cmd/layer                                   # all, some minutes
//	$ go run ./bench/cmd/layer -sizes 1024 -instances 0 -rounds 9
//	$ go run ./bench/cmd/layer -sizes 1024 -instances 0 -filters false -polls false,true
//	$ go run ./bench/cmd/layer -sizes 1024 -instances 0 -filters false -writes false,true -bursts 3000
//
// Both build the same sample in the ring and look at it where it lies: with DDS through Loan, Publish, WaitSet and
// TakeLoan, with the core through Reserve, Commit and Deliver, which is on the thread that polls. With -polls true the
// reader of DDS takes again and again without waiting, and so is on the thread that polls, too. With -writes true
// samples are values: DDS encodes them in Write, and with the core the sender does so between Reserve and Commit. A
// line has the medians of all rounds: samples a second, processor time of both sides for one sample, and the share of
// the core's rate that DDS reached, round by round. Instances 0 is a topic without key.
//
// With -bursts it measures the writing thread alone, by its processor time, in bursts for which the ring has room.
// Other programs beside hardly change that: a line has what nine of ten bursts exceed.
package main
