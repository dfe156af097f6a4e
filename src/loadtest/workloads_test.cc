#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "loadtest/prompt_source.h"
#include "loadtest/workload.h"

namespace millrace::loadtest {
namespace {

WorkloadOptions options_of(std::int64_t vocabulary = 1000) {
  WorkloadOptions options;
  options.seed = 7;
  options.input = {20, 40};
  options.output = {5, 9};
  options.prefix_tokens = 10;
  options.prefixes = 4;
  options.turns = 3;
  options.pause_s = 0.5;
  options.models = {"base", "adapter"};
  options.vocabulary = vocabulary;
  return options;
}

// Writes a data set for one test.
class DataSet {
 public:
  explicit DataSet(std::string_view text)
      : path_(testing::TempDir() + "data-set-" + std::to_string(reinterpret_cast<std::uintptr_t>(this))) {
    std::ofstream(path_) << text;
  }
  ~DataSet() { std::filesystem::remove(path_); }
  WorkloadOptions options() const {
    WorkloadOptions options = options_of();
    options.path = path_;
    return options;
  }

 private:
  std::string path_;
};

std::unique_ptr<Workload> made(std::string_view name, const WorkloadOptions& options = options_of()) {
  return make_workload(name, options).or_throw();
}

std::string rejection(std::string_view name, const WorkloadOptions& options) {
  const auto workload = make_workload(name, options);
  return workload ? "" : workload.error().message;
}

TEST(Workloads, SessionsDependOnTheirIndexAndSeedAlone) {
  for (const WorkloadKind& kind : all_workloads()) {
    WorkloadOptions options = options_of();
    const auto one = kind.make(options);
    if (!one) continue;  // wants a file
    const auto other = kind.make(options).or_throw();
    static_cast<void>(other->session(3));
    options.seed = 8;
    const auto seeded = kind.make(options).or_throw();
    bool differs = false;
    for (const std::uint64_t index : {5u, 0u, 90u}) {
      const Session a = (*one)->session(index), b = other->session(index), c = seeded->session(index);
      ASSERT_EQ(a.turns.size(), b.turns.size()) << kind.name;
      for (std::size_t t = 0; t < a.turns.size(); ++t) {
        EXPECT_EQ(a.turns[t].ids, b.turns[t].ids) << kind.name;
        EXPECT_EQ(a.turns[t].text, b.turns[t].text) << kind.name;
        EXPECT_EQ(a.turns[t].output_tokens, b.turns[t].output_tokens) << kind.name;
        EXPECT_NE(a.turns[t].ids.empty(), a.turns[t].text.empty()) << kind.name << ": ids or text";
        EXPECT_GE(a.turns[t].output_tokens, 1) << kind.name;
        differs = differs || a.turns[t].ids != c.turns[t].ids || a.turns[t].text != c.turns[t].text;
      }
    }
    EXPECT_TRUE(differs) << kind.name;
  }
}

TEST(Workloads, RandomHasTheLengthsAskedForInIdsAndWords) {
  const auto ids = made("random"), words = made("random", options_of(0));
  std::set<std::size_t> lengths;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Turn turn = ids->session(i).turns.at(0);
    lengths.insert(turn.ids.size());
    for (const std::int32_t id : turn.ids) EXPECT_TRUE(id >= 0 && id < 1000);
    EXPECT_TRUE(turn.output_tokens >= 5 && turn.output_tokens <= 9);
    const std::string text = words->session(i).turns.at(0).text;
    EXPECT_EQ(std::ranges::count(text, ' ') + 1, static_cast<std::ptrdiff_t>(turn.ids.size()));
  }
  EXPECT_EQ(*lengths.begin(), 30u);  // 10 shared and 20 to 40 of one's own
  EXPECT_EQ(*lengths.rbegin(), 50u);
  const auto a = ids->session(0).turns[0].ids, b = ids->session(1).turns[0].ids;
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 10, b.begin()));
  EXPECT_FALSE(std::equal(a.begin() + 10, a.begin() + 20, b.begin() + 10));
}

TEST(Workloads, SharedPrefixIsATreeWhoseFirstBranchIsAskedMost) {
  const auto workload = made("shared-prefix");
  std::map<std::vector<std::int32_t>, int> branches;
  const auto first = workload->session(0).turns[0].ids;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto ids = workload->session(i).turns[0].ids;
    EXPECT_TRUE(std::equal(ids.begin(), ids.begin() + 5, first.begin()));
    ++branches[{ids.begin() + 5, ids.begin() + 10}];
  }
  ASSERT_EQ(branches.size(), 4u);
  std::vector<int> counts;
  for (const auto& [ids, count] : branches) counts.push_back(count);
  std::ranges::sort(counts, std::greater());
  EXPECT_NEAR(counts[0], 480, 60);  // 1 / (1 + 1/2 + 1/3 + 1/4)
  EXPECT_NEAR(counts[3], 120, 40);
  WorkloadOptions none = options_of();
  none.prefix_tokens = 0;
  EXPECT_NE(rejection("shared-prefix", none).find("prefix-len"), std::string::npos);
}

TEST(Workloads, TurnsOfAConversationAreNewAndPauseBetween) {
  const Session session = made("multi-turn")->session(2);
  ASSERT_EQ(session.turns.size(), 3u);
  EXPECT_EQ(session.turns[0].pause_s, 0.0);
  EXPECT_EQ(session.turns[1].pause_s, 0.5);
  EXPECT_NE(session.turns[1].ids, session.turns[2].ids);
}

TEST(Workloads, DocumentsAreAskedAgain) {
  const auto workload = made("long-context");
  const auto a = workload->session(0).turns[0].ids, b = workload->session(4).turns[0].ids;
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(std::equal(a.begin(), a.end() - 16, b.begin()));
  EXPECT_NE(a, b);
  WorkloadOptions own = options_of();
  own.prefixes = 0;
  const auto alone = made("long-context", own);
  EXPECT_NE(alone->session(0).turns[0].ids[0], alone->session(4).turns[0].ids[0]);
}

TEST(Workloads, AdaptersAreMixedByZipf) {
  const auto workload = made("adapters");
  int base = 0;
  for (std::uint64_t i = 0; i < 900; ++i) base += workload->session(i).turns[0].model == "base" ? 1 : 0;
  EXPECT_NEAR(base, 600, 60);
  WorkloadOptions none = options_of();
  none.models.clear();
  EXPECT_NE(rejection("adapters", none).find("lora-modules"), std::string::npos);
}

// How often each of them is asked for in 4,000 requests; "" is the default model.
std::map<std::string, int> models_asked(const WorkloadOptions& options) {
  const auto workload = made("adapters", options);
  std::map<std::string, int> asked;
  for (std::uint64_t i = 0; i < 4000; ++i) ++asked[workload->session(i).turns[0].model];
  return asked;
}

TEST(Workloads, AdaptersHaveAnExponentAndAShareOfTheBase) {
  WorkloadOptions options = options_of();
  options.models = {"a", "b", "c", "d"};
  options.zipf = 0.0;
  options.base_share = 0.5;
  const auto alike = models_asked(options);
  EXPECT_NEAR(alike.at(""), 2000, 130);
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_NEAR(alike.at(name), 500, 90);
  options.zipf = 2.0;
  options.base_share = 0.0;
  auto steep = models_asked(options);  // 144 : 36 : 16 : 9
  EXPECT_EQ(steep.count(""), 0u);
  EXPECT_NEAR(steep["a"], 2810, 130);
  EXPECT_NEAR(steep["d"], 176, 55);
  options.base_share = 1.0;
  EXPECT_EQ(models_asked(options).at(""), 4000);
}

TEST(Workloads, ShapedLengthsHaveTheMeansOfThePaper) {
  const auto workload = made("sharegpt");
  double input = 0.0, output = 0.0;
  constexpr int kRequests = 4000;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    const Turn turn = workload->session(i).turns[0];
    input += static_cast<double>(turn.ids.size()) / kRequests;
    output += static_cast<double>(turn.output_tokens) / kRequests;
  }
  EXPECT_NEAR(input, 161.0, 12.0);
  EXPECT_NEAR(output, 325.0, 25.0);  // 338, less what lies beyond 2048
}

TEST(Workloads, JsonAnswersCarryTheirSchema) {
  const Turn turn = made("json")->session(1).turns[0];
  EXPECT_TRUE(turn.fields.starts_with(R"("response_format":{"type":"json_schema")"));
  EXPECT_TRUE(find_workload("json")->meaningful);
  EXPECT_FALSE(find_workload("random")->meaningful);
}

TEST(Workloads, BurstGptTraces) {
  const DataSet file(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\r\n45.5,GPT-4,1087,230,1317,\"API, log\"\n50,ChatGPT,10,0,10,x\n");
  WorkloadOptions options = file.options();
  options.trace_speed = 2.0;
  const auto workload = made("burstgpt", options);
  ASSERT_EQ(workload->sessions(), 2u);  // one that failed is none
  EXPECT_EQ(workload->start_s(0), 0.0);
  EXPECT_EQ(workload->start_s(1), 20.25);
  EXPECT_EQ(workload->session(1).turns[0].ids.size(), 1087u);
  EXPECT_EQ(workload->session(1).turns[0].output_tokens, 230);
}

TEST(Workloads, AzureTraces) {
  const DataSet file(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.5000000,374,44\n2023-11-17 00:00:01,396,109\n");
  const auto workload = made("azure", file.options());
  EXPECT_DOUBLE_EQ(*workload->start_s(1), 1.5);
  EXPECT_EQ(workload->session(0).turns[0].ids.size(), 374u);
}

TEST(Workloads, MooncakeTracesShareBlocks) {
  const DataSet file(R"({"timestamp": 1000, "input_length": 1100, "output_length": 5, "hash_ids": [46, 47, 2]}
{"timestamp": 4000, "input_length": 600, "output_length": 6, "hash_ids": [46, 99]}
)");
  const auto workload = made("mooncake", file.options());
  const auto a = workload->session(0).turns[0].ids, b = workload->session(1).turns[0].ids;
  EXPECT_EQ(*workload->start_s(1), 3.0);
  ASSERT_EQ(a.size(), 1100u);
  ASSERT_EQ(b.size(), 600u);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 512, b.begin()));
  EXPECT_FALSE(std::equal(b.begin() + 512, b.end(), a.begin() + 512));
}

TEST(Workloads, ConversationsOfShareGpt) {
  const DataSet file(
      R"([{"id":"a","conversations":[{"from":"human","value":"What is it?"},{"from":"gpt","value":"A long enough answer to be asked."}]},
                         {"id":"b","conversations":[{"from":"human","value":"x"}]}])");
  const Turn turn = made("sharegpt", file.options())->session(3).turns[0];
  EXPECT_EQ(turn.text, "What is it?");
  EXPECT_EQ(turn.output_tokens, 8);
}

TEST(Workloads, PromptsOfOnesOwn) {
  const DataSet file("{\"prompt\": \"one\", \"output_tokens\": 3}\n\n{\"prompt\": \"two\"}\n");
  const auto workload = made("custom", file.options());
  EXPECT_EQ(workload->session(0).turns[0].output_tokens, 3);
  EXPECT_EQ(workload->session(3).turns[0].text, "two");
}

TEST(Workloads, BadFilesSayWhatAndWhere) {
  const auto told = [](std::string_view name, std::string_view text) {
    return rejection(name, DataSet(text).options());
  };
  EXPECT_NE(told("burstgpt", "a,b\n1,2\n").find("'Timestamp'"), std::string::npos);
  EXPECT_NE(told("burstgpt", "Timestamp,Request tokens,Response tokens\nx,1,1\n").find("'x'"), std::string::npos);
  EXPECT_NE(told("azure", "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n").find("yesterday"),
            std::string::npos);
  EXPECT_NE(told("mooncake", "{\"timestamp\": 1}\n").find("line 1"), std::string::npos);
  EXPECT_NE(told("mooncake", "").find("no request"), std::string::npos);
  EXPECT_NE(told("sharegpt", "{}").find("list"), std::string::npos);
  EXPECT_NE(told("custom", "\n{\"prompt\": 1}\n").find("line 2"), std::string::npos);
  EXPECT_NE(told("custom", "{\"prompt\": \"a\", \"output_tokens\": 0}\n").find("output_tokens"), std::string::npos);
  EXPECT_NE(rejection("azure", options_of()).find("dataset-path"), std::string::npos);
  EXPECT_NE(rejection("unheard-of", options_of()).find("shared-prefix"), std::string::npos);
}

}  // namespace
}  // namespace millrace::loadtest
