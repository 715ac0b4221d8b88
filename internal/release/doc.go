// Package release has a store that publishes, and does not wait for itself to be seen: a store of sync/atomic is
// sequentially consistent, which on amd64 takes a locked operation of some 3 to 6 ns.
package release
