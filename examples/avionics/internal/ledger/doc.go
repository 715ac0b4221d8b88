// Package ledger compares what the processes of a run say they delivered, also those that were killed in the middle of it.
//
//	life := book.Begin("display1", false)
//	err := life.Deliver("Position", packed) // as it comes, a few milliseconds behind
//	book.Condemn(life)                      // it is about to be killed
//	book.End(life)                          // it has ended
//	findings := book.Check(Topic{Name: "Position", Writer: "nav"})
//
// A process that is killed can not report at its end, so each tells all the time what it has taken: position in the order of
// the topic, number, and a hash of the content. What it has told before its death, it has delivered.
//
// A life is one process from its start to its end; who plays a role after it has the next generation. Numbers of a later
// generation are greater (Number), so a number says which life has published it.
//
// # What is claimed
//
// The union of what all lives delivered of a topic, those that were killed included, is the order of the topic. Of it
//
//  1. nobody says anything else about a position than anybody else, and everybody goes through it upwards;
//  2. a life has all, without a gap, from the first sample (a late one: from the end of its history, or else from the first
//     sample that it delivered) to the last that it told; one that lives at the end, to the end. So what one delivered, and
//     be it one that was killed, everybody who lived on has delivered: all or none;
//  3. a late life was given as history, of every instance, the last sample before its own part of the order: at least of
//     the writers that lived then, and of all writers where the topic outlives them;
//  4. the samples of each writer are there in the order of their numbers from its first, without a gap. Of one that lives at
//     the end, all; of one that was killed, at least what it had been told is acknowledged. What it wrote behind that may be
//     lost, to all alike. So may be what it wrote while nobody was there who reads the topic;
//  5. a log on disk holds samples of the order, upwards, and all that its process delivered live; of a life that was killed,
//     at least what the writer had been told is acknowledged before it was. Nobody knows when one that died by itself did so, and
//     what was acknowledged then by the others alone: nothing is claimed of its log.
//
// A process that stands still for longer than a lease is excluded, and joins again by itself when it goes on. In between it is
// away: excused from 2 and 5; what its writers sent and was not acknowledged may be lost, to all alike. It says when it was away.
//
// What a process has taken in the last moments before it was killed, and could not tell, is not judged.
//
// A Book has one owner.
package ledger
