/* What every peer program shares: options, pacing, counting, latency, and the report. The programs differ in how they
 * write and take a sample, and in nothing else, so that a difference in figures is one between implementations. */
#ifndef BENCH_AGENT_H
#define BENCH_AGENT_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { AGENT_PUB, AGENT_SUB, AGENT_PING, AGENT_PONG } agent_role;

typedef struct {
  const char *impl; /* name of the implementation and its tuning, for the report */
  agent_role role;
  const char *role_name;
  uint32_t size;     /* bytes of an encoded sample */
  double rate;       /* samples per second; 0: as fast as the readers take them */
  uint32_t readers;  /* pub, ping: how many readers to wait for */
  double duration;   /* s of measuring, if count is 0 */
  uint64_t count;    /* samples to measure */
  double warmup;     /* s of sending before */
  uint32_t keep_last;        /* depth of writers; 0: KEEP_ALL */
  uint32_t reader_keep_last; /* depth of readers; the same unless said otherwise */
  uint32_t domain;
  bool listener; /* take samples in a listener, on the middleware's thread; otherwise in a waitset */
  bool batch;    /* let the middleware pack several samples into a message; flushed after each if there is a rate */
  bool sleep;    /* until a sample is due; otherwise the last stretch is spun */
  bool loan;     /* types of fixed size, written and read in place */
} agent_options;

typedef enum { AGENT_WARMUP, AGENT_MEASURE, AGENT_END } agent_phase;

/* The first members of a sample. The sample that ends a run has as number how many were to be counted. */
typedef struct {
  uint64_t number;
  int64_t sent;
  uint32_t phase;
} agent_header;

/* Bytes of a sample besides the header and, in a sequence, its length. */
enum { AGENT_SEQUENCE_OVERHEAD = 24, AGENT_ARRAY_OVERHEAD = 20 };

/* Parses the command line. Exits with a message if it is wrong; ends the process if it runs too long. */
void agent_init(agent_options *o, const char *impl, int argc, char **argv);

/* Prints what happened and exits with 1. */
void agent_fail(const char *what, const char *why) __attribute__((noreturn));

/* One process's counts. Of one thread at a time: that which sends, or that which receives. */
typedef struct {
  uint64_t count;
  uint64_t expected;
  uint64_t next; /* least number that has not come; sub and pong only, since ping hears from several */
  int64_t first_ns, last_ns;
  double user_s, sys_s;
  uint64_t max_ns;
  uint64_t *buckets;
} agent_result;

/* Writes a sample; false if it could not be written within the blocking time. */
typedef bool (*agent_write)(void *writer, const agent_header *h);

/* How many readers the writer has. */
typedef uint32_t (*agent_matched)(void *writer);

/* pub, ping: waits for readers, then warm-up, measurement, end. */
void agent_send(const agent_options *o, agent_result *r, agent_write write, agent_matched matched, void *writer);

/* sub, ping, pong: counts. `finished` is posted when the last sender's end has come. */
typedef struct {
  const agent_options *options;
  agent_result result;
  uint32_t ends; /* how many ends are still to come */
  int64_t now;   /* of the batch that is being counted */
  bool measuring;
  sem_t finished;
} agent_receiver;

void agent_receiver_init(agent_receiver *r, const agent_options *o);

/* Call once after samples were taken, then agent_receive for each. True if more will come. */
void agent_batch(agent_receiver *r);
bool agent_receive(agent_receiver *r, const agent_header *h);

/* Waits for the end; for programs that take samples in a listener. */
void agent_await(agent_receiver *r);

/* Sleeps for so many milliseconds, where there is nothing to wait on. */
void agent_idle(unsigned ms);

/* Prints the JSON object. */
void agent_report(const agent_options *o, const agent_result *r);

#ifdef __cplusplus
}
#endif
#endif
