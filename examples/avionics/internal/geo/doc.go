// Package geo is the geodesy of the avionics example: range, bearing and closure between aircraft.
//
// The Earth is a sphere of the IUGG mean radius (6371.0088 km). Against the WGS-84 ellipsoid ranges are off by at
// most 0.56 %, bearings by at most 0.2 degrees, which is enough for traffic within some tens of nautical miles and
// for nothing else.
//
//	r := geo.Range(own, other)              // nautical miles
//	b := geo.Bearing(own, other)            // degrees true, 0..360
//	c := geo.Closure(own, ownV, other, otherV) // knots, positive when they come closer
//
// Units are those of aviation: nautical miles, knots, feet, degrees. Everything is a pure function.
package geo
