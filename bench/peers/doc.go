// Package peers builds and names the implementations of DDS that ours is compared with: Eclipse Cyclone DDS and
// eProsima Fast DDS, as Debian packages them. Their programs are in C and C++, one per implementation, and share
// agent/agent.h: options, pacing, counting and report. README.md in the directory above says what the options mean and
// how is counted.
//
//	p, err := peers.Build(ctx, dir)  // what is not installed is left out, with the reason in p.Missing
//	for _, v := range p.Variants {
//		cmd := v.Command(ctx, "sub", peers.Throughput, "--size", "1024")
//	}
//
// A Variant is one implementation with one configuration. Values are immutable after Build and may be used concurrently.
package peers
