package cdr

import (
	"encoding/binary"
	"math"
)

// The functions below store and load little-endian values at computed offsets. Generated code uses them on the
// bytes of Encoder.Run and Decoder.Run: they are inlined, and one bounds check covers a whole run.

// PutBool stores a boolean.
func PutBool(b []byte, v bool) {
	var u byte
	if v {
		u = 1
	}
	b[0] = u
}

// PutUint16 stores an unsigned short.
func PutUint16(b []byte, v uint16) { binary.LittleEndian.PutUint16(b, v) }

// PutInt16 stores a short.
func PutInt16(b []byte, v int16) { binary.LittleEndian.PutUint16(b, uint16(v)) }

// PutUint32 stores an unsigned long.
func PutUint32(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }

// PutInt32 stores a long.
func PutInt32(b []byte, v int32) { binary.LittleEndian.PutUint32(b, uint32(v)) }

// PutUint64 stores an unsigned long long.
func PutUint64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// PutInt64 stores a long long.
func PutInt64(b []byte, v int64) { binary.LittleEndian.PutUint64(b, uint64(v)) }

// PutFloat32 stores a float.
func PutFloat32(b []byte, v float32) { binary.LittleEndian.PutUint32(b, math.Float32bits(v)) }

// PutFloat64 stores a double.
func PutFloat64(b []byte, v float64) { binary.LittleEndian.PutUint64(b, math.Float64bits(v)) }

// GetUint16 loads an unsigned short.
func GetUint16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }

// GetInt16 loads a short.
func GetInt16(b []byte) int16 { return int16(binary.LittleEndian.Uint16(b)) }

// GetUint32 loads an unsigned long.
func GetUint32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// GetInt32 loads a long.
func GetInt32(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }

// GetUint64 loads an unsigned long long.
func GetUint64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// GetInt64 loads a long long.
func GetInt64(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

// GetFloat32 loads a float.
func GetFloat32(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// GetFloat64 loads a double.
func GetFloat64(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
