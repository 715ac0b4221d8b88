// eProsima Fast DDS as a peer. What is tuned is in the XML files beside this one (FASTRTPS_DEFAULT_PROFILES_FILE).
#include <fastdds/dds/core/LoanableSequence.hpp>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "agent.h"
#include "samplePubSubTypes.h"

using namespace eprosima::fastdds::dds;
using Code = eprosima::fastrtps::types::ReturnCode_t;

namespace {

constexpr int BLOCKING_SECONDS = 10;
const InstanceHandle_t HANDLE_NIL; // of the topic's only instance

void check(const char* what, const Code& rc) {
  if (rc != Code::RETCODE_OK) agent_fail(what, ("return code " + std::to_string(rc())).c_str());
}

template <typename Entity>
Entity* made(const char* what, Entity* e) {
  if (e == nullptr) agent_fail(what, "cannot be created; the log above says why");
  return e;
}

void set_size(bench::Sample& s, uint32_t size) { s.bytes().resize(size - AGENT_SEQUENCE_OVERHEAD); }

template <typename Fixed>
void set_size(Fixed&, uint32_t) {}

template <typename Qos>
void set_policies(Qos& q, uint32_t keep_last) {
  q.reliability().kind = RELIABLE_RELIABILITY_QOS;
  q.reliability().max_blocking_time = {BLOCKING_SECONDS, 0};
  q.durability().kind = VOLATILE_DURABILITY_QOS; // a writer's default is transient local here
  q.history().kind = keep_last == 0 ? KEEP_ALL_HISTORY_QOS : KEEP_LAST_HISTORY_QOS;
  if (keep_last > 0) q.history().depth = static_cast<int32_t>(keep_last);
}

template <typename S, typename Support>
class Peer : private DataReaderListener {
public:
  explicit Peer(const agent_options& o) : o_(o) {
    set_size(sample_, o.size);
    agent_receiver_init(&receiver_, &o);
    auto* factory = DomainParticipantFactory::get_instance();
    factory->load_profiles();
    participant_ = made("participant", factory->create_participant(o.domain, factory->get_default_participant_qos()));
    check("type", TypeSupport(new Support()).register_type(participant_));
    // A reader's listener may run as soon as there is a reader: the writer that it answers with comes first.
    if (o.role != AGENT_SUB) make_writer(o.role == AGENT_PONG ? "Pong" : "Ping");
    if (o.role != AGENT_PUB) make_reader(o.role == AGENT_PING ? "Pong" : "Ping");
  }

  void run() {
    agent_result sent{};
    switch (o_.role) {
    case AGENT_PUB:
      agent_send(&o_, &sent, &Peer::write, &Peer::matched, this);
      flush_and_report(sent);
      break;
    case AGENT_PING: {
      await_writers();
      std::thread taker;
      if (!o_.listener) taker = std::thread([this] { receive(); });
      agent_send(&o_, &sent, &Peer::write, &Peer::matched, this);
      agent_await(&receiver_);
      if (taker.joinable()) taker.join();
      flush_and_report(receiver_.result);
      break;
    }
    case AGENT_SUB:
      if (!o_.listener) receive();
      agent_await(&receiver_);
      agent_report(&o_, &receiver_.result);
      break;
    case AGENT_PONG:
      if (!o_.listener) receive();
      agent_await(&receiver_);
      flush_and_report(receiver_.result);
      break;
    }
    if (reader_ != nullptr) reader_->set_listener(nullptr);
    participant_->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant_);
  }

private:
  Topic* make_topic(const char* name) {
    return made("topic", participant_->create_topic(name, Support().getName(), TOPIC_QOS_DEFAULT));
  }

  void make_writer(const char* topic) {
    auto* p = made("publisher", participant_->create_publisher(PUBLISHER_QOS_DEFAULT));
    DataWriterQos q = p->get_default_datawriter_qos();
    set_policies(q, o_.keep_last);
    writer_ = made("writer", p->create_datawriter(make_topic(topic), q));
  }

  void make_reader(const char* topic) {
    auto* s = made("subscriber", participant_->create_subscriber(SUBSCRIBER_QOS_DEFAULT));
    DataReaderQos q = s->get_default_datareader_qos();
    set_policies(q, o_.reader_keep_last);
    auto* t = make_topic(topic);
    reader_ = made("reader", o_.listener ? s->create_datareader(t, q, this, StatusMask::data_available())
                                         : s->create_datareader(t, q));
  }

  static uint32_t matched(void* self) {
    auto* p = static_cast<Peer*>(self);
    PublicationMatchedStatus s;
    check("matched", p->writer_->get_publication_matched_status(s));
    return static_cast<uint32_t>(s.current_count);
  }

  void await_writers() {
    SubscriptionMatchedStatus s;
    do {
      agent_idle(1);
      check("matched", reader_->get_subscription_matched_status(s));
    } while (s.current_count < static_cast<int32_t>(o_.readers));
  }

  static bool write(void* self, const agent_header* h) { return static_cast<Peer*>(self)->write(*h); }

  bool write(const agent_header& h) {
    S* s = &sample_;
    if (o_.loan) {
      void* lent = nullptr;
      check("loan", lend(lent));
      s = static_cast<S*>(lent);
      *s = sample_; // filled, as an application would
    }
    s->number(h.number);
    s->sent(h.sent);
    s->phase(h.phase);
    // With KEEP_ALL and a full history, 2.9 reports a time-out also long before max_blocking_time; the sample was not
    // written, and writing it again is what an application would do.
    Code rc = writer_->write(s, HANDLE_NIL);
    if (rc == Code::RETCODE_TIMEOUT) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(BLOCKING_SECONDS);
      do rc = writer_->write(s, HANDLE_NIL);
      while (rc == Code::RETCODE_TIMEOUT && std::chrono::steady_clock::now() < deadline);
    }
    if (rc == Code::RETCODE_TIMEOUT) return false;
    check("write", rc);
    return true;
  }

  // A writer has as many loans as samples; when all are on their way it has to wait for acknowledgments, which is
  // what write does without loans.
  Code lend(void*& lent) {
    Code rc = writer_->loan_sample(lent);
    while (rc == Code::RETCODE_OUT_OF_RESOURCES) {
      std::this_thread::yield();
      rc = writer_->loan_sample(lent);
    }
    return rc;
  }

  // Takes what is there, counts it, and sends it back if this is pong. False after the end.
  bool drain(DataReader* reader) {
    LoanableSequence<S> samples;
    SampleInfoSeq infos;
    bool more = true;
    while (more && reader->take(samples, infos) == Code::RETCODE_OK) {
      agent_batch(&receiver_);
      for (LoanableCollection::size_type i = 0; i < infos.length() && more; i++) {
        if (!infos[i].valid_data) continue;
        const S& s = samples[i];
        const agent_header h{s.number(), s.sent(), s.phase()};
        if (o_.role == AGENT_PONG && !write(h)) agent_fail("pong", "ping did not make room");
        more = agent_receive(&receiver_, &h);
      }
      check("return loan", reader->return_loan(samples, infos));
    }
    return more;
  }

  void on_data_available(DataReader* reader) override { drain(reader); }

  void receive() {
    StatusCondition& available = reader_->get_statuscondition();
    check("status", available.set_enabled_statuses(StatusMask::data_available()));
    WaitSet set;
    check("attach", set.attach_condition(available));
    ConditionSeq active;
    do check("wait", set.wait(active, eprosima::fastrtps::c_TimeInfinite));
    while (drain(reader_));
  }

  void flush_and_report(const agent_result& r) {
    check("acknowledgments", writer_->wait_for_acknowledgments({BLOCKING_SECONDS, 0}));
    agent_report(&o_, &r);
  }

  const agent_options& o_;
  DomainParticipant* participant_ = nullptr;
  DataWriter* writer_ = nullptr;
  DataReader* reader_ = nullptr;
  S sample_; // the one that is written; copied first if a sample is lent
  agent_receiver receiver_;
};

template <typename S, typename Support>
void run(const agent_options& o) {
  // Samples of a fixed size are too large for a stack.
  auto p = std::make_unique<Peer<S, Support>>(o);
  p->run();
}

} // namespace

int main(int argc, char** argv) {
  agent_options o;
  agent_init(&o, "fastdds", argc, argv);
  if (o.batch) agent_fail("--batch", "Fast DDS has no batching of samples");
  if (!o.loan) {
    run<bench::Sample, bench::SamplePubSubType>(o);
    return 0;
  }
  switch (o.size) {
  case 128: run<bench::Sample128, bench::Sample128PubSubType>(o); break;
  case 1024: run<bench::Sample1K, bench::Sample1KPubSubType>(o); break;
  case 10240: run<bench::Sample10K, bench::Sample10KPubSubType>(o); break;
  case 1048576: run<bench::Sample1M, bench::Sample1MPubSubType>(o); break;
  default: agent_fail("--loan", "there are types for sizes 128, 1024, 10240 and 1048576 only");
  }
  return 0;
}
