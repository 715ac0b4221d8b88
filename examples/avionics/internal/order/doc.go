// Package order checks at a reader that the samples of a topic came complete and in order, and condenses what came
// into a digest that readers compare.
//
//	t := order.NewTracker(order.Total)
//	t.Sample(order.Sample{Number: s.Number, Epoch: info.Epoch, Sequence: info.Sequence, Writer: info.PublicationHandle, Bytes: encoded})
//	t.Result()  // delivered, missing, duplicated, reordered, digest
//
// # What counts as wrong
//
// Two witnesses are asked. The number that the source put into the sample counts 1, 2, 3, ... for each writer, from
// where the generation of its process begins: a number left out is missing, one that came before is duplicated, one
// that comes after a greater one is reordered. The position that the middleware reports (Epoch, Sequence) must ascend
// over the whole topic, whoever wrote: if not, that is reordered too.
//
// # The digest
//
// SHA-256 over the samples in the order in which they were taken: number, length and bytes of each. Two readers with
// one digest saw the same samples with the same content in the same order. The writer is not in it: it has another name
// in every run, and the digest of a recording should not.
//
// # Who came late
//
// A reader that joined in the middle has no beginning: numbers before the first one are not missing. If the topic keeps
// history, samples up to a moment that the reader tells (HistoryEnds) may have gaps. What it should have is the business of
// package ledger.
//
// A Tracker has one owner.
package order
