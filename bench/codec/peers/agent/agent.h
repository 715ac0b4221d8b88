/* What the programs of all peers share: they obey lines on stdin and answer with lines on stdout.
 *
 *   bytes CASE XCDR               the encoded sample in hexadecimal, or "-" for what the peer does not have
 *   time CASE XCDR encode|decode N    N times: "cpu-nanoseconds allocations allocated-bytes", or "-"
 *
 * CASE is Flat, Text, Blob, Route or Status; XCDR is 1 or 2. agent.c has main. */
#ifndef AGENT_H
#define AGENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values, which ../../values.go has, too. */
#define TIME 1763769600000000000u
#define STRINGS 8
static const size_t string_lengths[STRINGS] = {8, 16, 24, 32, 64, 128, 256, 408};
static inline char string_byte(size_t string, size_t i) { return (char)('a' + (7 * i + string) % 26); }
#define BLOB 10240
static inline uint8_t blob_byte(size_t i) { return (uint8_t)(31 * i + 7); }
#define FIXES 1000
#define COUNTERS 8
#define DUMP 32

/* A peer is these. An operation gives the length of the sample, 0 if the peer does not have the case. */
extern const char *const agent_cases[];
size_t agent_setup(int which, int xcdr);  /* prepares a value, and the sample that agent_sample gives */
const unsigned char *agent_sample(void);
size_t agent_encode(void);                /* the value into the memory of the sample */
size_t agent_decode(void);                /* the sample into a second value, whose memory is used again */

#ifdef __cplusplus
}
#endif
#endif
