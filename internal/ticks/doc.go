// Package ticks reads the counter of the processor, where the kernel itself tells the time by it: a third of what
// reading the kernel's clock costs. Its rate and its beginning are unknown; who wants the time compares it with a clock
// now and then.
package ticks
