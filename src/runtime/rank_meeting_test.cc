#include "runtime/rank_meeting.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/memory_env.h"
#include "checkpoint/content_key.h"
#include "model/testing/scripted_rank.h"
#include "runtime/rank_options.h"

namespace millrace::runtime {
namespace {

constexpr RankLoaded kOwnPart{.weights = 1, .computation = 2, .build = 3, .precision = 4, .pages = 5, .ms = 1.0};

std::vector<std::byte> said_by(const std::function<void(comm::Communicator&)>& rank_1) {
  model::ScriptedRank group(1, 2);
  rank_1(group);
  return group.said();
}

std::string refusal(const std::vector<std::byte>& said, const checkpoint::Checkpoint& checkpoint = {}) {
  model::ScriptedRank group(0, 2);
  group.say({said});
  try {
    meet_ranks(kOwnPart, checkpoint, group);
    return "";
  } catch (const LoadError& failure) {
    return failure.what();
  }
}

std::string refusal_of(const std::function<void(RankLoaded&)>& change, const checkpoint::Checkpoint& checkpoint = {}) {
  RankLoaded part = kOwnPart;
  change(part);
  return refusal(said_by([&](comm::Communicator& group) { report_loaded(part, group); }), checkpoint);
}

TEST(RankMeeting, NamesWhatDiffers) {
  EXPECT_EQ(refusal_of([](RankLoaded& part) { part.bytes.packed = 7; }), "");
  EXPECT_EQ(refusal_of([](RankLoaded& part) { part.weights = 0; }),
            "rank 1 has another content of the weights than rank 0");
  EXPECT_EQ(refusal_of([](RankLoaded& part) { part.computation = 0; }),
            "rank 1 has another configuration of the model than rank 0");
  EXPECT_EQ(refusal_of([](RankLoaded& part) { part.build = 0; }), "rank 1 has another build than rank 0");
  EXPECT_EQ(refusal_of([](RankLoaded& part) { part.precision = 0; }),
            "rank 1 has another matmul-precision than rank 0");
  EXPECT_EQ(refusal_of([](RankLoaded& part) { part.pages = 0; }),
            "rank 1 has another format of the KV cache than rank 0");
  EXPECT_EQ(refusal({std::byte{1}}), "rank 1 has another build than rank 0") << "bytes that mean nothing";
  EXPECT_EQ(refusal(said_by([](comm::Communicator& group) {
              report_not_loaded(make_error(ErrorCode::kNotFound, "model", "m.gguf: No such file"), group);
            })),
            "rank 1: m.gguf: No such file");
}

TEST(RankMeeting, FilesOfAnotherTimeAreReadWhole) {
  MemoryEnv env;
  checkpoint::Checkpoint checkpoint;
  for (const char* name : {"a", "b"}) {
    env.files[name] = std::string(3'000'000, name[0]);
    checkpoint.files.push_back(env.open(name).or_throw());
  }
  const std::uint64_t key = checkpoint::whole_key(checkpoint);
  EXPECT_EQ(refusal_of([&](RankLoaded& part) { part.all_bytes = key; }, checkpoint), "");
  EXPECT_EQ(refusal_of([&](RankLoaded& part) { part.all_bytes = key + 1; }, checkpoint),
            "rank 1 has another content of the files than rank 0");
  env.files["b"][2'500'000] = 'c';
  EXPECT_NE(checkpoint::whole_key(checkpoint), key);
}

TEST(RankOptions, AreComparedByName) {
  const RankOptions own{.threads = 2, .given = {{"command run", 0}, {"model", 5}, {"--kv-cache-dtype", 6}}};
  RankOptions other = own;
  other.threads = 7;
  other.cpu_isa = "avx2";
  EXPECT_EQ(other_options(own, told_options(other)), std::nullopt);
  other.given[1].value = 4;
  EXPECT_EQ(other_options(own, told_options(other)), "another model");
  other = own;
  other.given.pop_back();
  EXPECT_EQ(other_options(own, told_options(other)), "another --kv-cache-dtype");
  EXPECT_EQ(other_options(other, told_options(own)), "another --kv-cache-dtype");
  EXPECT_EQ(other_options(own, {}), "another build");
}

}  // namespace
}  // namespace millrace::runtime
