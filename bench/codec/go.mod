module github.com/omg-dds-go/dds/bench/codec

go 1.26.0

require (
	github.com/omg-dds-go/dds v0.0.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/sys v0.49.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/alecthomas/participle/v2 v2.1.4 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/omg-dds-go/dds => ../..

tool github.com/omg-dds-go/dds/cmd/idlgen
