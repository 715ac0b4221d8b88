#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { NS = 1000000000 };

void agent_fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static void cpu(double *user, double *sys) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  *user = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
  *sys = (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

/* ---- options ---- */

static const char usage[] =
    "usage: %s pub|sub|ping|pong [options]\n"
    "  --size BYTES       of an encoded sample (128)\n"
    "  --rate N           samples per second, 0 for as many as possible (0; ping 1000)\n"
    "  --readers N        pub, ping: wait for so many (1)\n"
    "  --duration S       measure for so long (1)\n"
    "  --count N          measure so many samples instead\n"
    "  --warmup S         send for so long before (0.5)\n"
    "  --keep-last DEPTH  history; without it KEEP_ALL\n"
    "  --reader-keep-last DEPTH  of readers, if it is not that of writers\n"
    "  --domain ID        (0)\n"
    "  --listener         take samples in a listener, not in a waitset\n"
    "  --batch            pack samples, if the implementation can\n"
    "  --sleep            until a sample is due; without it the last stretch is spun\n"
    "  --loan             types of fixed size, written and read in place\n"
    "  --impl NAME        name in the report\n"
    "  --timeout S        give up after so long (60)\n";

static void on_alarm(int signal) {
  static const char text[] = "timeout: readers not found, or samples missing; see --timeout\n";
  (void)signal;
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(1);
}

static double number(const char *option, const char *text) {
  char *end;
  errno = 0;
  double v = strtod(text, &end);
  if (errno != 0 || end == text || *end != 0 || !(v >= 0) || v > 1e15) {
    fprintf(stderr, "--%s %s: not a number from 0 to 1e15\n", option, text);
    exit(2);
  }
  return v;
}

void agent_init(agent_options *o, const char *impl, int argc, char **argv) {
  static const struct option options[] = {
      {"size", required_argument, 0, 's'},     {"rate", required_argument, 0, 'r'},
      {"readers", required_argument, 0, 'n'},  {"duration", required_argument, 0, 'd'},
      {"count", required_argument, 0, 'c'},    {"warmup", required_argument, 0, 'w'},
      {"keep-last", required_argument, 0, 'k'}, {"domain", required_argument, 0, 'D'},
      {"reader-keep-last", required_argument, 0, 'K'},
      {"listener", no_argument, 0, 'L'},       {"batch", no_argument, 0, 'b'},
      {"sleep", no_argument, 0, 'S'},
      {"loan", no_argument, 0, 'l'},           {"impl", required_argument, 0, 'i'},
      {"timeout", required_argument, 0, 't'},  {0, 0, 0, 0},
  };
  static const char *const roles[] = {"pub", "sub", "ping", "pong"};
  *o = (agent_options){.impl = impl, .size = 128, .rate = -1, .readers = 1, .duration = 1, .warmup = 0.5};
  double timeout = 60;
  int c, i;
  while ((c = getopt_long(argc, argv, "", options, &i)) != -1) {
    switch (c) {
    case 's': o->size = (uint32_t)number("size", optarg); break;
    case 'r': o->rate = number("rate", optarg); break;
    case 'n': o->readers = (uint32_t)number("readers", optarg); break;
    case 'd': o->duration = number("duration", optarg); break;
    case 'c': o->count = (uint64_t)number("count", optarg); break;
    case 'w': o->warmup = number("warmup", optarg); break;
    case 'k': o->keep_last = (uint32_t)number("keep-last", optarg); break;
    case 'K': o->reader_keep_last = (uint32_t)number("reader-keep-last", optarg); break;
    case 'D': o->domain = (uint32_t)number("domain", optarg); break;
    case 'L': o->listener = true; break;
    case 'b': o->batch = true; break;
    case 'S': o->sleep = true; break;
    case 'l': o->loan = true; break;
    case 'i': o->impl = optarg; break;
    case 't': timeout = number("timeout", optarg); break;
    default: fprintf(stderr, usage, argv[0]); exit(2);
    }
  }
  for (i = 0; optind == argc - 1 && i < 4; i++) {
    if (strcmp(argv[optind], roles[i]) == 0) {
      o->role = (agent_role)i;
      o->role_name = roles[i];
    }
  }
  if (o->role_name == NULL || o->size < AGENT_SEQUENCE_OVERHEAD || o->size > 1u << 30 || o->readers == 0) {
    fprintf(stderr, usage, argv[0]);
    exit(2);
  }
  if (o->reader_keep_last == 0) o->reader_keep_last = o->keep_last;
  if (o->rate < 0) o->rate = o->role == AGENT_PING ? 1000 : 0;
  signal(SIGALRM, on_alarm);
  alarm((unsigned)ceil(timeout));
}

/* ---- latency ---- */

/* A histogram of 512 steps for each power of two: values are known to 0.2 %. Below 1024 they are exact. */
enum { STEPS = 512, STEP_BITS = 9, BUCKETS = (64 - STEP_BITS) * STEPS + STEPS };

static unsigned bucket_of(uint64_t v) {
  if (v < 2 * STEPS) return (unsigned)v;
  unsigned shift = 63 - (unsigned)__builtin_clzll(v) - STEP_BITS;
  return shift * STEPS + (unsigned)(v >> shift);
}

static uint64_t highest_of(unsigned bucket) {
  if (bucket < 2 * STEPS) return bucket;
  unsigned shift = bucket / STEPS - 1;
  uint64_t mantissa = bucket - shift * STEPS;
  return ((mantissa + 1) << shift) - 1;
}

static void histogram_init(agent_result *r) {
  r->buckets = calloc(BUCKETS, sizeof *r->buckets);
  if (r->buckets == NULL) agent_fail("histogram", "out of memory");
}

static void record(agent_result *r, int64_t ns) {
  uint64_t v = ns < 0 ? 0 : (uint64_t)ns;
  r->buckets[bucket_of(v)]++;
  if (v > r->max_ns) r->max_ns = v;
}

static uint64_t percentile(const agent_result *r, double p) {
  if (r->buckets == NULL) return 0;
  uint64_t total = 0, seen = 0;
  for (unsigned i = 0; i < BUCKETS; i++) total += r->buckets[i];
  uint64_t rank = (uint64_t)ceil(p / 100 * (double)total);
  if (rank == 0) rank = 1;
  for (unsigned i = 0; i < BUCKETS; i++) {
    seen += r->buckets[i];
    if (seen >= rank) return highest_of(i) < r->max_ns ? highest_of(i) : r->max_ns;
  }
  return r->max_ns;
}

/* ---- sending ---- */

/* Sleeping wakes up late, by the scheduler, and by the slack of timers (50 us) unless the thread gives that up; so the last stretch is spun, unless
 * writers are to sleep, with the usual slack. */
enum { SPIN_NS = 60000 };

static void wait_until(int64_t t, int64_t spin) {
  int64_t early = t - spin;
  if (early > now_ns()) {
    struct timespec ts = {early / NS, early % NS};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
  }
  while (now_ns() < t) sched_yield();
}

/* Sends one phase and returns how many samples it had. With a rate, sample i is due at start + i/rate whatever became
 * of those before: a stall is in the latency of all samples that it delays (no coordinated omission). */
static uint64_t send_phase(const agent_options *o, agent_phase phase, double seconds, uint64_t count, agent_write write,
                           void *writer) {
  if (!o->sleep) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* of this thread; ours does the same */
  int64_t start = now_ns(), end = start + (int64_t)(seconds * NS);
  agent_header h = {.phase = phase};
  for (;; h.number++) {
    int64_t due = now_ns();
    if (o->rate > 0) due = start + (int64_t)((double)h.number * NS / o->rate);
    if (count > 0 ? h.number == count : due >= end) return h.number;
    if (o->rate > 0) wait_until(due, o->sleep ? 0 : SPIN_NS);
    h.sent = due;
    if (!write(writer, &h)) agent_fail("write", "a reader did not make room within the blocking time");
  }
}

/* Says that the run is over. A writer with KEEP_LAST may lose what it says, so it lets the readers catch up first, and repeats
 * it until they are gone. */
static void send_end(const agent_options *o, const agent_header *end, agent_write write, agent_matched matched, void *writer) {
  unsigned tries = o->keep_last > 0 ? 250 : 1;
  do {
    if (o->keep_last > 0) agent_idle(20);
    if (!write(writer, end)) agent_fail("write", "a reader did not make room for the end within the blocking time");
  } while (--tries > 0 && matched(writer) > 0);
}

void agent_send(const agent_options *o, agent_result *r, agent_write write, agent_matched matched, void *writer) {
  double user, sys;
  while (matched(writer) < o->readers) agent_idle(1);
  if (o->warmup > 0) send_phase(o, AGENT_WARMUP, o->warmup, 0, write, writer);
  cpu(&user, &sys);
  r->first_ns = now_ns();
  r->count = r->expected = send_phase(o, AGENT_MEASURE, o->duration, o->count, write, writer);
  r->last_ns = now_ns();
  cpu(&r->user_s, &r->sys_s);
  r->user_s -= user;
  r->sys_s -= sys;
  send_end(o, &(agent_header){.number = r->count, .sent = r->last_ns, .phase = AGENT_END}, write, matched, writer);
}

/* ---- receiving ---- */

void agent_receiver_init(agent_receiver *r, const agent_options *o) {
  *r = (agent_receiver){.options = o, .ends = o->role == AGENT_PING ? o->readers : 1};
  histogram_init(&r->result);
  sem_init(&r->finished, 0, 0);
}

void agent_batch(agent_receiver *r) { r->now = now_ns(); }

static void begin(agent_receiver *r) {
  r->measuring = true;
  r->result.first_ns = r->result.last_ns = r->now;
  cpu(&r->result.user_s, &r->result.sys_s);
}

bool agent_receive(agent_receiver *r, const agent_header *h) {
  agent_result *s = &r->result;
  switch (h->phase) {
  case AGENT_WARMUP: return true;
  case AGENT_MEASURE:
    if (!r->measuring) begin(r);
    /* A sample that comes twice, or in place of another (a slot of shared memory that was overwritten), is not one more. */
    if (r->options->role != AGENT_PING && h->number < s->next) return true;
    s->next = h->number + 1;
    s->count++;
    s->last_ns = r->now;
    record(s, r->now - h->sent);
    return true;
  default: break;
  }
  if (r->ends == 0) return false; /* repeated */
  s->expected += h->number;
  if (--r->ends > 0) return true;
  if (r->measuring) {
    double user, sys;
    cpu(&user, &sys);
    s->user_s = user - s->user_s;
    s->sys_s = sys - s->sys_s;
  }
  sem_post(&r->finished);
  return false;
}

void agent_await(agent_receiver *r) {
  while (sem_wait(&r->finished) != 0 && errno == EINTR) continue;
}

void agent_idle(unsigned ms) {
  struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
  nanosleep(&t, NULL);
}

void agent_report(const agent_options *o, const agent_result *r) {
  /* Between the first sample and the last there is one interval less than there are samples. */
  double seconds = (double)(r->last_ns - r->first_ns) / NS;
  uint64_t intervals = r->count > 0 ? r->count - 1 : 0;
  double rate = seconds > 0 ? (double)intervals / seconds : 0;
  printf("{\"role\":\"%s\",\"impl\":\"%s\",\"size\":%" PRIu32 ",\"readers\":%" PRIu32 ",\"count\":%" PRIu64
         ",\"seconds\":%.6f,\"rate\":%.1f,\"mbps\":%.3f,\"lost\":%" PRId64 ",\"p50_ns\":%" PRIu64 ",\"p90_ns\":%" PRIu64
         ",\"p99_ns\":%" PRIu64 ",\"p999_ns\":%" PRIu64 ",\"p9999_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
         ",\"cpu_user_s\":%.6f,\"cpu_sys_s\":%.6f}\n",
         o->role_name, o->impl, o->size, o->readers, r->count, seconds, rate, rate * o->size * 8 / 1e6,
         (int64_t)(r->expected - r->count), percentile(r, 50), percentile(r, 90), percentile(r, 99),
         percentile(r, 99.9), percentile(r, 99.99), r->max_ns, r->user_s, r->sys_s);
  fflush(stdout);
}
