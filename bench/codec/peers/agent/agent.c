/* For malloc's other name; time.h. */
#define _GNU_SOURCE
#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Allocations are counted where all of them pass, those of operator new and of the peers' libraries included. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
static uint64_t allocations, allocated;

void *malloc(size_t n)
{
  allocations++;
  allocated += n;
  return __libc_malloc(n);
}

void *calloc(size_t n, size_t m)
{
  allocations++;
  allocated += n * m;
  return __libc_calloc(n, m);
}

void *realloc(void *p, size_t n)
{
  allocations++;
  allocated += n;
  return __libc_realloc(p, n);
}

static uint64_t now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static int find(const char *name)
{
  for (int i = 0; agent_cases[i]; i++)
    if (strcmp(agent_cases[i], name) == 0)
      return i;
  return -1;
}

static void measure(size_t (*op)(void), long n)
{
  uint64_t count = allocations, bytes = allocated, start = now();
  size_t sum = 0;
  for (long i = 0; i < n; i++)
    sum += op();
  uint64_t end = now();
  if (sum == 0) {
    puts("-");
    return;
  }
  printf("%llu %llu %llu\n", (unsigned long long) (end - start), (unsigned long long) (allocations - count), (unsigned long long) (allocated - bytes));
}

int main(void)
{
  char line[256], what[16], name[16], op[16];
  while (fgets(line, sizeof line, stdin)) {
    int xcdr = 0;
    long n = 0;
    int got = sscanf(line, "%15s %15s %d %15s %ld", what, name, &xcdr, op, &n);
    int which = got >= 3 ? find(name) : -1;
    size_t size = which >= 0 ? agent_setup(which, xcdr) : 0;
    if (size == 0) {
      puts("-");
    } else if (strcmp(what, "bytes") == 0) {
      /* what was decoded, and encoded from that, shows that both are right */
      for (size_t i = 0; i < size; i++)
        printf("%02x", agent_sample()[i]);
      puts("");
    } else if (got == 5 && n > 0) {
      measure(strcmp(op, "decode") == 0 ? agent_decode : agent_encode, n);
    } else {
      puts("?");
    }
    if (fflush(stdout) != 0)
      return 1;
  }
  return 0;
}
