package main

import "testing"

// BenchmarkOurs runs our operations one by one, for profiles.
func BenchmarkOurs(b *testing.B) {
	for _, s := range subjects() {
		ops, err := s.operations()
		if err != nil {
			b.Fatal(err)
		}
		for _, op := range ops {
			b.Run(s.name+"/"+op.How, func(b *testing.B) {
				b.ReportAllocs()
				if _, err := op.run(b.N); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
