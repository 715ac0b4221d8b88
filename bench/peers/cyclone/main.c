/* Eclipse Cyclone DDS as a peer. What is tuned is in the XML files beside this one (CYCLONEDDS_URI). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "dds/dds.h"
#include "dds/ddsc/dds_loan_api.h"
#include "sample.h"

enum { TAKE_MAX = 256 };

typedef struct {
  const agent_options *options;
  const dds_topic_descriptor_t *type;
  dds_entity_t participant, writer, reader;
  void *sample; /* the one that is written; copied first if a sample is lent */
  agent_receiver receiver;
} peer;

static dds_entity_t check(const char *what, dds_entity_t rc) {
  if (rc < 0) agent_fail(what, dds_strretcode(-rc));
  return rc;
}

/* ---- types ---- */

static const struct {
  uint32_t size;
  const dds_topic_descriptor_t *type;
} fixed[] = {
    {128, &bench_Sample128_desc}, {1024, &bench_Sample1K_desc}, {10240, &bench_Sample10K_desc}, {1048576, &bench_Sample1M_desc}};

static void choose_type(peer *p) {
  const agent_options *o = p->options;
  if (!o->loan) {
    bench_Sample *s = calloc(1, sizeof *s);
    uint32_t n = o->size - AGENT_SEQUENCE_OVERHEAD;
    if (s == NULL || (s->bytes._buffer = calloc(1, n + 1)) == NULL) agent_fail("sample", "out of memory");
    s->bytes._length = s->bytes._maximum = n;
    p->sample = s;
    p->type = &bench_Sample_desc;
    return;
  }
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    if (fixed[i].size == o->size) p->type = fixed[i].type;
  if (p->type == NULL) agent_fail("--loan", "there are types for sizes 128, 1024, 10240 and 1048576 only");
  if ((p->sample = calloc(1, p->type->m_size)) == NULL) agent_fail("sample", "out of memory");
}

/* ---- entities ---- */

static dds_qos_t *make_qos(uint32_t keep_last) {
  dds_qos_t *q = dds_create_qos();
  dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
  if (keep_last == 0)
    dds_qset_history(q, DDS_HISTORY_KEEP_ALL, 0);
  else
    dds_qset_history(q, DDS_HISTORY_KEEP_LAST, (int32_t)keep_last);
  return q;
}

static void make_writer(peer *p, const char *topic) {
  dds_qos_t *q = make_qos(p->options->keep_last);
  dds_entity_t t = check("topic", dds_create_topic(p->participant, p->type, topic, NULL, NULL));
  p->writer = check("writer", dds_create_writer(p->participant, t, q, NULL));
  dds_delete_qos(q);
  if (p->options->loan && !dds_is_loan_available(p->writer))
    agent_fail("--loan", "the writer has no shared memory; it needs SharedMemory/Enable, iox-roudi and --keep-last up to 16");
}

static void make_reader(peer *p, const char *topic, dds_listener_t *listener) {
  dds_qos_t *q = make_qos(p->options->reader_keep_last);
  dds_entity_t t = check("topic", dds_create_topic(p->participant, p->type, topic, NULL, NULL));
  p->reader = check("reader", dds_create_reader(p->participant, t, q, listener));
  dds_delete_qos(q);
}

static uint32_t matched(void *arg) {
  dds_publication_matched_status_t s;
  check("matched", dds_get_publication_matched_status(((peer *)arg)->writer, &s));
  return s.current_count;
}

static void await_writers(peer *p, uint32_t n) {
  dds_subscription_matched_status_t s;
  do {
    agent_idle(1);
    check("matched", dds_get_subscription_matched_status(p->reader, &s));
  } while (s.current_count < n);
}

/* ---- samples ---- */

/* All types begin with the same three members, as C lays them out. */
static bool write_sample(void *arg, const agent_header *h) {
  peer *p = arg;
  void *s = p->sample;
  if (p->options->loan) { /* and filled, as an application would */
    check("loan", dds_loan_sample(p->writer, &s));
    memcpy(s, p->sample, p->type->m_size);
  }
  memcpy(s, h, sizeof h->number + sizeof h->sent + sizeof h->phase);
  dds_return_t rc = dds_write(p->writer, s);
  if (rc == DDS_RETCODE_TIMEOUT) return false;
  check("write", rc);
  bool prompt = p->options->rate > 0 || p->options->role == AGENT_PONG || h->phase == AGENT_END;
  if (p->options->batch && prompt) dds_write_flush(p->writer);
  return true;
}

/* Takes what is there, counts it, and sends it back if this is pong. False after the end. */
static bool drain(peer *p, dds_entity_t reader) {
  void *samples[TAKE_MAX] = {NULL};
  dds_sample_info_t infos[TAKE_MAX];
  bool more = true;
  int32_t n;
  while (more && (n = check("take", dds_take(reader, samples, infos, TAKE_MAX, TAKE_MAX))) > 0) {
    agent_batch(&p->receiver);
    for (int32_t i = 0; i < n && more; i++) {
      if (!infos[i].valid_data) continue;
      agent_header h;
      memcpy(&h, samples[i], sizeof h.number + sizeof h.sent + sizeof h.phase);
      if (p->options->role == AGENT_PONG && !write_sample(p, &h)) agent_fail("pong", "ping did not make room");
      more = agent_receive(&p->receiver, &h);
    }
    check("return loan", dds_return_loan(reader, samples, n));
  }
  return more;
}

static void on_data(dds_entity_t reader, void *arg) {
  drain(arg, reader);
}

static void *receive(void *arg) {
  peer *p = arg;
  dds_entity_t set = check("waitset", dds_create_waitset(p->participant));
  check("status", dds_set_status_mask(p->reader, DDS_DATA_AVAILABLE_STATUS));
  check("attach", dds_waitset_attach(set, p->reader, 0));
  do check("wait", dds_waitset_wait(set, NULL, 0, DDS_INFINITY));
  while (drain(p, p->reader));
  return NULL;
}

/* The listener tells of the end before it has returned what it took: it has to be done before anything is deleted. */
static void await_receiver(peer *p) {
  agent_await(&p->receiver);
  if (p->options->listener) check("listener", dds_set_listener(p->reader, NULL));
}

/* ---- roles ---- */

static void flush_and_report(peer *p, const agent_result *r) {
  check("acknowledgments", dds_wait_for_acks(p->writer, DDS_SECS(10)));
  agent_report(p->options, r);
}

int main(int argc, char **argv) {
  agent_options o;
  agent_init(&o, "cyclone", argc, argv);

  static peer p; /* the middleware's threads use it until the process ends */
  p.options = &o;
  choose_type(&p);
  agent_receiver_init(&p.receiver, &o);
  p.participant = check("participant", dds_create_participant(o.domain, NULL, NULL));
  dds_write_set_batch(o.batch); /* of the domains that exist, for the writers to come */

  /* A reader's listener may run as soon as there is a reader: the writer that it answers with comes first. */
  if (o.role != AGENT_SUB) make_writer(&p, o.role == AGENT_PONG ? "Pong" : "Ping");
  if (o.role != AGENT_PUB) {
    dds_listener_t *l = NULL;
    if (o.listener) {
      l = dds_create_listener(&p);
      dds_lset_data_available(l, on_data);
    }
    make_reader(&p, o.role == AGENT_PING ? "Pong" : "Ping", l);
  }
  if (o.role == AGENT_PING) await_writers(&p, o.readers);

  agent_result sent = {0};
  pthread_t receiver;
  switch (o.role) {
  case AGENT_PUB:
    agent_send(&o, &sent, write_sample, matched, &p);
    flush_and_report(&p, &sent);
    break;
  case AGENT_PING:
    if (!o.listener && pthread_create(&receiver, NULL, receive, &p) != 0)
      agent_fail("thread", "cannot be created");
    agent_send(&o, &sent, write_sample, matched, &p);
    await_receiver(&p);
    flush_and_report(&p, &p.receiver.result);
    break;
  case AGENT_SUB:
    if (!o.listener) receive(&p);
    await_receiver(&p);
    agent_report(&o, &p.receiver.result);
    break;
  case AGENT_PONG:
    if (!o.listener) receive(&p);
    await_receiver(&p);
    flush_and_report(&p, &p.receiver.result);
    break;
  }
  check("close", dds_delete(p.participant));
  return 0;
}
