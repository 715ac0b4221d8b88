package geo

import "math"

const (
	earthRadiusMetres = 6371008.8 // IUGG mean radius
	// MetresPerNM is the length of a nautical mile.
	MetresPerNM = 1852.0
	// MetresPerFoot is the length of an international foot.
	MetresPerFoot = 0.3048

	earthRadiusNM = earthRadiusMetres / MetresPerNM
)

// Point is a place on the Earth, in degrees, north and east positive.
type Point struct {
	Lat, Lon float64
}

// Velocity is a movement over ground: speed in knots, track in degrees true.
type Velocity struct {
	Speed, Track float64
}

// Range is the great-circle distance between two points in nautical miles.
func Range(a, b Point) float64 {
	// Haversine: unlike the law of cosines it keeps its digits at short range.
	dLat, dLon := rad(b.Lat-a.Lat), rad(b.Lon-a.Lon)
	h := sq(math.Sin(dLat/2)) + math.Cos(rad(a.Lat))*math.Cos(rad(b.Lat))*sq(math.Sin(dLon/2))
	return 2 * earthRadiusNM * math.Asin(math.Min(1, math.Sqrt(h)))
}

// Bearing is the initial course of the great circle from a to b, in degrees true from 0 up to 360. It is 0 for equal
// points.
func Bearing(a, b Point) float64 {
	dLon := rad(b.Lon - a.Lon)
	y := math.Sin(dLon) * math.Cos(rad(b.Lat))
	x := math.Cos(rad(a.Lat))*math.Sin(rad(b.Lat)) - math.Sin(rad(a.Lat))*math.Cos(rad(b.Lat))*math.Cos(dLon)
	return Wrap360(deg(math.Atan2(y, x)))
}

// Destination is where one arrives from p on the initial course given, after nm nautical miles.
func Destination(p Point, course, nm float64) Point {
	d, c := nm/earthRadiusNM, rad(course)
	lat1, lon1 := rad(p.Lat), rad(p.Lon)
	lat2 := math.Asin(math.Sin(lat1)*math.Cos(d) + math.Cos(lat1)*math.Sin(d)*math.Cos(c))
	lon2 := lon1 + math.Atan2(math.Sin(c)*math.Sin(d)*math.Cos(lat1), math.Cos(d)-math.Sin(lat1)*math.Sin(lat2))
	return Point{Lat: deg(lat2), Lon: Wrap180(deg(lon2))}
}

// Closure is the speed in knots at which two aircraft come closer: the part of their relative velocity that lies
// along the line between them. It is negative when they separate, and taken as level flight.
func Closure(a Point, va Velocity, b Point, vb Velocity) float64 {
	there, back := Bearing(a, b), Bearing(b, a)
	return va.Speed*math.Cos(rad(va.Track-there)) + vb.Speed*math.Cos(rad(vb.Track-back))
}

// Relative turns a true bearing into one from the nose: from -180 (exclusive) to 180, right positive.
func Relative(bearing, heading float64) float64 { return Wrap180(bearing - heading) }

// Wrap360 brings an angle into 0 <= a < 360.
func Wrap360(a float64) float64 {
	a = math.Mod(a, 360)
	if a < 0 {
		a += 360
	}
	if a >= 360 { // a tiny negative angle plus 360 rounds to 360
		a = 0
	}
	return a
}

// Wrap180 brings an angle into -180 < a <= 180.
func Wrap180(a float64) float64 {
	a = Wrap360(a)
	if a > 180 {
		a -= 360
	}
	return a
}

func rad(d float64) float64 { return d * math.Pi / 180 }

func deg(r float64) float64 { return r * 180 / math.Pi }

func sq(x float64) float64 { return x * x }
