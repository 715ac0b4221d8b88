// Command baseline measures what the machine can do, by hand-written programs without any middleware, so that other
// figures of the same run can be divided by these.
//
//	go run ./bench/baseline [-duration 500ms] [-dir DIR] [-cpus A,B] [-size N] [-readers N] [-batch N] [NAME...]
//
// Names: memcpy (one core, several sizes and working sets), cacheline (a word bounced between two processes that spin),
// futex (wake-up of a process that sleeps), ring (a ring of one producer in shared memory, 128-byte messages, copied in
// and out, one and four processes that read), core (the same messages over package derecho, which the ring is the limit
// of), unordered (that without the order, the sender trying again where there is no room), lent and pool (messages of 1
// MB that are lent from a ring, and that lie in chunks of a pool whose numbers are in a ring), tcp (one loopback stream
// between two processes), file (sequential writes, synced every MB), append (sequential writes to a new file, each
// synced), sync (a batch into reserved space and to the device, by two system calls, by one, and by io_uring, in
// turns). Without names all of them. Each prints one JSON object with the fields of bench/internal/result for each
// variant; "what" says what was done, role is the name.
//
// The second process of a measurement is this program again, with the memory as file descriptor 3. Memory that is shared is
// touched only through the typed atomics and copies of shared.go, which states who writes what.
package main
