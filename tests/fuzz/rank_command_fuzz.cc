// What a rank may get of another one, by the first byte: 'c': commands for a follower of a small model, each behind its
// length; 'a': answers to rank 0, likewise, as those of rank 1; 'm': what ranks say when they have loaded; 'h': when
// they meet over MPI. It is done, or the error is a LoadError that names what is wrong.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/log.h"
#include "comm/transports/mpi_hello.h"
#include "model/make_spec.h"
#include "model/ranks/rank_follower.h"
#include "model/ranks/rank_leader.h"
#include "model/ranks/transformer_part.h"
#include "model/testing/scripted_rank.h"
#include "runtime/rank_meeting.h"

namespace {

using namespace millrace;
using Messages = std::deque<std::vector<std::byte>>;

constexpr std::size_t kMaxBytes = 8192;  // a step of many rows is right, but slow

Messages messages_of(std::span<const std::byte> bytes) {
  Messages messages;
  while (bytes.size() >= sizeof(std::uint32_t)) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes = bytes.subspan(sizeof(size));
    const auto message = bytes.first(std::min<std::size_t>(size, bytes.size()));
    bytes = bytes.subspan(message.size());
    messages.emplace_back(message.begin(), message.end());
  }
  return messages;
}

template <typename Work>
void or_say_why(const Work& work) {
  try {
    work();
  } catch (const LoadError& failure) {
    if (failure.error().message.empty()) std::abort();
  }
}

// Rank 1 of two of a model.
class Follower {
 public:
  Follower()
      : checkpoint_(checkpoint::open_checkpoint(Env::system(), MILLRACE_GOLDEN "/tiny/llama").or_throw()),
        group_(std::make_shared<model::ScriptedRank>(1, 2)),
        backend_(backend::cpu::make_cpu_backend({.threads = 1, .communicator = group_}).or_throw()) {
    auto spec = model::make_spec(*checkpoint_).or_throw();
    auto shards = std::make_shared<model::Shards>(model::Shards::make(spec, std::vector<double>{1, 1}).or_throw());
    model_ = std::make_unique<model::Transformer>(*checkpoint_, std::move(spec), *backend_,
                                                  model::ModelOptions{.shards = std::move(shards), .group = group_});
  }
  void follow(Messages commands) {
    std::erase_if(commands, [](const auto& command) { return command.size() > kMaxBytes; });
    group_->say(std::move(commands));
    model::TransformerPart part(*model_, *backend_);
    or_say_why([&] { model::RankFollower(*group_, part).run(); });
  }

 private:
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::shared_ptr<model::ScriptedRank> group_;
  std::unique_ptr<backend::Backend> backend_;
  std::unique_ptr<model::Transformer> model_;
};

void lead(Messages answers) {
  const auto group = std::make_shared<model::ScriptedRank>(0, 2);
  group->say(std::move(answers));
  model::RankLeader leader(group);
  or_say_why([&] {
    auto pages = leader.make_store({.encoding = "f32", .layout = "", .block_tokens = 4, .exceptions = {}, .pages = 2},
                                   {.made = true, .page = 64});
    model::BatchInput input;
    const std::vector<std::int32_t> of_sequence = {0};
    input.tokens = {1, 2};
    input.sequences.push_back({0, 2, 0, of_sequence});
    leader.step(input, 0);
    leader.computed(0);
    leader.finish_step(0, leader.timer());
    leader.take_statistics();
    if (!pages || (*pages)->page_bytes(false) > 4096) return;
    std::vector<std::byte> page((*pages)->page_bytes(false));
    (*pages)->read(false, 1, page);
  });
}

void meet(Messages answers) {
  model::ScriptedRank group(0, 2);
  group.say(std::move(answers));
  or_say_why([&] { runtime::meet_ranks({.weights = 1}, {}, group); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  log::set_level(log::Level::kOff);
  static Follower follower;
  Messages messages = messages_of(std::as_bytes(std::span(data + 1, size - 1)));
  if (data[0] == 'c') follower.follow(std::move(messages));
  if (data[0] == 'a') lead(std::move(messages));
  if (data[0] == 'm') meet(std::move(messages));
  if (data[0] == 'h') {
    const std::vector<std::vector<std::byte>> all(messages.begin(), messages.end());
    const auto hellos = comm::read_hellos(all, 2, 1);
    if (hellos && hellos->size() != 2) std::abort();
  }
  return 0;
}
