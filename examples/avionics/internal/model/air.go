package model

import (
	"math"
	"math/rand/v2"
)

// Air is what an air-data computer makes of the air around it.
type Air struct {
	StaticPressureHPa  float64
	PressureAltitudeFt float64
	IndicatedKt        float64
	TrueKt             float64
	Mach               float64
	StaticTemperatureC float64
}

// International Standard Atmosphere, ISO 2533, up to the tropopause.
const (
	seaPressure    = 1013.25 // hPa
	seaTemperature = 288.15  // K
	lapseRate      = 0.0065  // K/m
	gasConstant    = 287.05287
	heatRatio      = 1.4
	seaSpeedOfSnd  = 661.4788 // knots
	tropopauseFt   = 36_089.24
	metresPerFoot  = 0.3048
)

// AirAt gives the air data of the standard atmosphere at a pressure altitude and a true airspeed. Above the
// tropopause, where the example does not fly, the altitude counts as that of the tropopause.
func AirAt(altitudeFt, trueKt float64) Air {
	h := math.Min(altitudeFt, tropopauseFt) * metresPerFoot
	temperature := seaTemperature - lapseRate*h
	pressure := seaPressure * math.Pow(temperature/seaTemperature, gravity/(gasConstant*lapseRate))
	mach := trueKt / (seaSpeedOfSnd * math.Sqrt(temperature/seaTemperature))
	// Impact pressure, and the speed that it would be at sea level: that is what the indicator shows.
	impact := pressure * (math.Pow(1+(heatRatio-1)/2*mach*mach, heatRatio/(heatRatio-1)) - 1)
	indicated := seaSpeedOfSnd * math.Sqrt(2/(heatRatio-1)*(math.Pow(impact/seaPressure+1, (heatRatio-1)/heatRatio)-1))
	return Air{
		StaticPressureHPa: pressure, PressureAltitudeFt: altitudeFt, IndicatedKt: indicated, TrueKt: trueKt,
		Mach: mach, StaticTemperatureC: temperature - 273.15,
	}
}

// Sensor is an air-data computer with its own noise.
type Sensor struct{ rng *rand.Rand }

// NewSensor makes the computer of a number; each number has other noise.
func NewSensor(seed uint64, number int) *Sensor {
	return &Sensor{rng: rand.New(rand.NewPCG(seed, 100+uint64(number)))}
}

// Measure gives noisy air data for an altitude and a true airspeed.
func (s *Sensor) Measure(altitudeFt, trueKt float64) Air {
	return AirAt(altitudeFt+4*s.rng.NormFloat64(), math.Max(0, trueKt+0.4*s.rng.NormFloat64()))
}
