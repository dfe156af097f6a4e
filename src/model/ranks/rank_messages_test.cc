// What ranks send each other, as bytes: real ones are taken and kept for the fuzzer (tests/fuzz/rank_command_fuzz.cc),
// wrong ones are refused by name.

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "comm/forwarding_communicator.h"
#include "model/ranks/stage_link.h"
#include "model/testing/random_tokens.h"
#include "model/testing/scripted_rank.h"
#include "model/testing/shared_runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

const std::string kSmallModel = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama";
const fs::path kCorpus = fs::path(MILLRACE_TEST_DATA) / ".." / "fuzz" / "corpus" / "rank_command";

// What rank 0 sends.
class Recorded final : public comm::ForwardingCommunicator {
 public:
  using Messages = std::vector<std::vector<std::byte>>;
  Recorded(std::shared_ptr<comm::Communicator> inner, Messages& to)
      : ForwardingCommunicator(std::move(inner)), to_(to) {}
  Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept override {
    to_.emplace_back(command.begin(), command.end());
    return inner_->send(command, timeout);
  }

 private:
  Messages& to_;
};

struct Ignored final : LogitsConsumer {
  void take_logits(std::int64_t, const TensorView&) override {}
  void take_hidden(std::int64_t, const TensorView&) override {}
};

// Of every kind but those of adapters, whose files are somewhere else tomorrow.
Recorded::Messages real_commands() {
  Recorded::Messages commands;
  const auto use = [](TestRunner& runner) {
    Transformer& model = runner.transformer();
    const backend::KvFormat form{
        .encoding = "bf16",
        .block_tokens = 32,
        .exceptions = std::make_shared<const std::vector<backend::KvException>>(1, backend::KvException{1, 1, "f32"})};
    kv::KvStore store = model.make_store(form, 4).or_throw();
    store.copy(0, 1);
    std::vector<std::byte> page(store.page_bytes());
    store.read(1, page);
    store.write(2, page);
    store.give_back(0, [](kv::BlockId id) { return id == 1; });
    runner.run({random_tokens(20, 1), random_tokens(9, 2)}, {{{0, 16}}, {{0, 4}, {1, 8}}, {{1, 1}}});
    Ignored sink;
    runner.run_into(random_tokens(6, 3), 4, sink);
    model.start_rounding_statistics();
    runner.run_whole(random_tokens(5, 4));
    model.take_rounding_statistics();
    model.set_int8x2(std::vector<std::string>{"model.layers.0.mlp.down_proj.weight"});
  };
  run_shared(kSmallModel, {.max_length = 24}, {.shares = {1, 1}}, use, {},
             [&](std::shared_ptr<comm::Communicator> group) -> std::shared_ptr<comm::Communicator> {
               if (group->rank() != 0) return group;
               return std::make_shared<Recorded>(std::move(group), commands);
             });
  return commands;
}

// As the fuzzer reads them.
std::string file_of(char kind, const Recorded::Messages& messages) {
  std::string bytes(1, kind);
  for (const std::vector<std::byte>& message : messages) {
    const auto size = static_cast<std::uint32_t>(message.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes.append(reinterpret_cast<const char*>(message.data()), message.size());
  }
  return bytes;
}

// Rank 1 of two of a model gets these commands. Why it ends; empty: rank 0 had no more to say.
std::string follow_commands(const Recorded::Messages& commands,
                            const std::shared_ptr<ScriptedRank>& group = std::make_shared<ScriptedRank>(1, 2)) {
  group->say({commands.begin(), commands.end()});
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), kSmallModel).or_throw();
  auto shards = std::make_shared<Shards>(Shards::make(make_spec(*checkpoint).or_throw(), equal_shares(2)).or_throw());
  try {
    follow_rank(kSmallModel, group, {.max_length = 24, .shards = std::move(shards)});
    return "";
  } catch (const LoadError& failure) {
    return failure.what();
  }
}

std::vector<std::byte> bytes_of(const RankCommand& command) {
  ByteWriter bytes;
  bytes(command);
  return bytes.take();
}

template <typename Value>
std::vector<std::byte> bytes_of_answer(Value value) {
  ByteWriter bytes;
  bytes(value);
  return bytes.take();
}

std::vector<std::byte> with_key(std::vector<std::byte> answer, std::uint64_t key) {
  append_number(answer, key);
  return answer;
}

const RankStore kStore{.encoding = "f32", .layout = "", .block_tokens = 4, .exceptions = {}, .pages = 2};

// What rank 1 answers where rank 0 does what the fuzzer lets it do.
Recorded::Messages right_answers() {
  const auto group = std::make_shared<ScriptedRank>(0, 2);
  std::uint64_t key = next_commands_key(0, bytes_of(kStore));
  Recorded::Messages answers = {with_key(bytes_of_answer(RankStoreMade{true, 64, 0}), key)};
  group->say({answers.begin(), answers.end()});
  RankLeader leader(group);
  const auto pages = leader.make_store(kStore, {.made = true, .page = 64});
  const std::vector<std::int32_t> of_sequence = {0};
  BatchInput input;
  input.tokens = {1, 2};
  input.sequences.push_back({0, 2, 0, of_sequence});
  leader.step(input, 0);
  RankReport report{.experts = {}, .overflows = {}};
  report.overflows.push_back({.layer = 1, .head = 2, .position = 3, .value = 4.0f, .encoding = "f16"});
  key = next_commands_key(key, group->said());
  answers.push_back(with_key(bytes_of_answer(report), key));
  key = next_commands_key(key, bytes_of(RankStatistics{}));
  answers.push_back(with_key(bytes_of_answer(RankCounts{.weights = {{"w", 5, 6}}}), key));
  key = next_commands_key(key, bytes_of(RankPageRead{{0, false, 1}}));
  answers.push_back(with_key(std::vector<std::byte>(64), key));
  return answers;
}

TEST(RankMessages, RealCommandsAreTakenAndOfEveryKind) {
  Recorded::Messages commands = real_commands();
  std::set<std::size_t> kinds;
  for (const std::vector<std::byte>& command : commands) kinds.insert(static_cast<std::size_t>(command.at(0)));
  EXPECT_EQ(kinds.size(), std::variant_size_v<RankCommand> - 3) << "all but three of adapters";
  EXPECT_EQ(follow_commands(commands), "");
  if (std::getenv("MILLRACE_WRITE_CORPUS") != nullptr) {
    fs::create_directories(kCorpus);
    std::ofstream(kCorpus / "commands", std::ios::binary) << file_of('c', commands);
    std::ofstream(kCorpus / "answers", std::ios::binary) << file_of('a', right_answers());
  }
}

// So that the fuzzer begins with messages as they are today.
TEST(RankMessages, TheCorpusHasRealOnes) {
  const auto kept = [](const char* name) {
    std::ifstream file(kCorpus / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const char* const told = "messages have changed: run this program with MILLRACE_WRITE_CORPUS=1 in the environment";
  EXPECT_TRUE(kept("commands") == file_of('c', real_commands())) << told;
  EXPECT_TRUE(kept("answers") == file_of('a', right_answers())) << told;
}

TEST(RankMessages, CommandsThatEndEarlyOrLateAreRefused) {
  for (std::vector<std::byte> command : real_commands()) {
    command.push_back({});
    EXPECT_EQ(follow_commands({command}), "rank 0 sends a command that cannot be: its bytes end early or late");
    command.resize(command.size() / 2);
    if (command.size() <= 1) continue;  // one that has only a kind is whole
    EXPECT_EQ(follow_commands({command}), "rank 0 sends a command that cannot be: its bytes end early or late");
  }
  EXPECT_EQ(follow_commands({{std::byte{200}}}), "rank 0 sends a command that cannot be: its bytes end early or late");
}

TEST(RankMessages, CommandsThatDoNotFitWhatTheRankHasAreRefused) {
  const RankStore store{.store = 3, .encoding = "f32", .layout = "", .block_tokens = 32, .exceptions = {}, .pages = 2};
  const auto expect = [&](const RankCommand& command, const std::string& told) {
    EXPECT_EQ(follow_commands({bytes_of(store), bytes_of(command)}), "rank 0 sends a command that cannot be: " + told);
  };
  expect(store, "there is a store 3 already");
  expect(RankStep{.store = 4, .tokens = {1}}, "there is no store 4");
  expect(RankStep{.store = 3, .tokens = {1}, .sequences = {{0, 1, 0, 1, 0}}, .pages = {2}},
         "pages has 2: must be from 0 to 1");
  expect(RankStep{.store = 3,
                  .tokens = {1},
                  .sequences = {{0, 1, 0, 1, 0}},
                  .pages = {1},
                  .adapters = {{.adapter = 5, .n_rows = 1}}},
         "there is no adapter 5");
  expect(RankPageCopy{{3, false, 1}, 2}, "there is no page 2");
  expect(RankPageRead{{3, true, 0}}, "there is no page 0");
  expect(RankPageWrite{{3, false, 0}, {0, 1}, {}}, "a page of another size: must have 8192 bytes");
  expect(RankPageWrite{{3, false, 0}, {0, 8192}, std::vector<std::byte>(8191)},
         "a page is too short: 8191 bytes of all ranks");
  expect(RankGiveBack{3, false, 0, 2, 1, {}}, "end_part has 2: must be from 0 to 1");
  expect(RankGiveBack{3, false, 0, 1, 1, {0, 3}}, "kept has 3: must be from 0 to 2");
  expect(RankGiveBack{3, false, 0, 1, 1, {1, 1}}, "kept has 1 before 1: must ascend");
  expect(RankStatistics{.start = false}, "statistics end that have not begun");
  expect(RankAdapter{.type = static_cast<AdapterType>(9)}, "type of an adapter has 9: must be from 0 to 3");
}

TEST(RankMessages, AnswersThatCannotBeLoseTheRank) {
  const auto leader_told = [](std::deque<std::vector<std::byte>> answers, const auto& ask) {
    const auto group = std::make_shared<ScriptedRank>(0, 2);
    group->say(std::move(answers));
    RankLeader leader(group);
    try {
      ask(leader);
      return std::string(leader.intact() ? "" : "lost");
    } catch (const LoadError& failure) {
      EXPECT_FALSE(leader.intact());
      EXPECT_EQ(failure.error().code, ErrorCode::kUnavailable);
      return std::string(failure.what());
    }
  };
  const auto make = [&](RankLeader& leader) {
    return leader.make_store(kStore, {.made = true, .page = 64}).or_throw();
  };
  const auto read = [&](RankLeader& leader) {
    const auto pages = make(leader);
    std::vector<std::byte> page(pages->page_bytes(false));
    pages->read(false, 0, page);
  };
  const std::uint64_t first = next_commands_key(0, bytes_of(kStore));
  const std::uint64_t second = next_commands_key(first, bytes_of(RankPageRead{{0, false, 0}}));
  const auto made = with_key(bytes_of_answer(RankStoreMade{true, 64, 0}), first);
  const std::vector<std::byte> page(64), shorter(63);
  EXPECT_EQ(leader_told({made}, make), "");
  EXPECT_EQ(leader_told({with_key(bytes_of_answer(RankStoreMade{true, ~std::uint64_t{0}, 0}), first)}, make),
            "rank 1 answers with pages of 18446744073709551615 bytes: at most 1099511627776 are possible");
  EXPECT_EQ(leader_told({{std::byte{1}}}, make), "rank 1 answers with bytes that are no answer");
  EXPECT_EQ(leader_told({with_key({std::byte{1}}, first)}, make), "rank 1 answers with bytes that are no answer");
  EXPECT_EQ(leader_told({made, with_key(page, second)}, read), "");
  EXPECT_EQ(leader_told({made, with_key(shorter, second)}, read), "lost");
  EXPECT_EQ(leader_told({made, with_key(page, first)}, read), "lost") << "an answer to an earlier command";
  EXPECT_EQ(leader_told({with_key(bytes_of_answer(RankStoreMade{true, 64, 0}), second)}, make),
            "rank 1 answers with other commands than it was sent: one was lost or doubled on the way");
}

// A rank may be found to have ended between two steps, when pages are copied.
TEST(RankMessages, StepsInFlightFailWhereARankWasLostMeanwhile) {
  const auto group = std::make_shared<ScriptedRank>(0, 2);
  group->say({with_key(bytes_of_answer(RankStoreMade{true, 64, 0}), next_commands_key(0, bytes_of(kStore)))});
  RankLeader leader(group);
  const auto pages = leader.make_store(kStore, {.made = true, .page = 64}).or_throw();
  const std::vector<std::int32_t> of_sequence = {0};
  BatchInput input;
  input.tokens = {1, 2};
  input.sequences.push_back({0, 2, 0, of_sequence});
  EXPECT_EQ(leader.step(input, 0), 0u);
  EXPECT_EQ(leader.step(input, 0), 1u);
  leader.lose(make_error(ErrorCode::kUnavailable, "rank", "rank 1 has ended"));
  EXPECT_THROW(leader.next_rows(0, 1), LoadError);
  EXPECT_THROW(leader.finish_step(0, leader.timer()), LoadError);
}

// What a rank answers says which commands it has followed, in which order: one that was lost or doubled shows.
TEST(RankMessages, AnswersNameAllCommandsBefore) {
  const RankStore store{.store = 3, .encoding = "f32", .layout = "", .block_tokens = 32, .exceptions = {}, .pages = 3};
  const RankCommand first = RankPageCopy{{3, false, 0}, 1}, second = RankPageCopy{{3, false, 1}, 2};
  const RankCommand read = RankPageRead{{3, false, 2}};
  const auto key_after = [&](const std::vector<RankCommand>& commands) {
    const auto group = std::make_shared<ScriptedRank>(1, 2);
    Recorded::Messages bytes = {bytes_of(store)};
    for (const RankCommand& command : commands) bytes.push_back(bytes_of(command));
    EXPECT_EQ(follow_commands(bytes, group), "");
    auto said = group->said();
    return take_number(said);
  };
  const auto right = key_after({first, second, read});
  ASSERT_TRUE(right);
  EXPECT_EQ(key_after({first, second, read}), right);
  EXPECT_NE(key_after({second, first, read}), right);
  EXPECT_NE(key_after({first, read}), right);
  EXPECT_NE(key_after({first, first, second, read}), right);
}

TEST(RankMessages, RowsOfAnotherStepAreRefused) {
  const std::vector<std::byte> rows(8, std::byte{5});
  ScriptedRank sending(0, 2);
  pass_rows(sending, rows, 7, 1);
  const auto told = [&](std::size_t bytes, std::uint64_t step) {
    ScriptedRank group(1, 2);
    group.say({sending.said()});
    try {
      EXPECT_EQ(take_rows(group, bytes, step), rows);
      return std::string();
    } catch (const LoadError& failure) {
      EXPECT_EQ(failure.error().code, ErrorCode::kUnavailable);
      return std::string(failure.what());
    }
  };
  EXPECT_EQ(told(8, 7), "");
  EXPECT_EQ(told(8, 6), "the stage before this one passes on rows of step 7, not of 6");
  EXPECT_EQ(told(12, 7), "the stage before this one passes on 8 bytes instead of 12");
}

}  // namespace
}  // namespace millrace::model
