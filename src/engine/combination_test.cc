// Every decoding feature with every other: each combination gives what the plain path gives, bit for bit. The table in
// docs/decode.md is what this test ran; MILLRACE_WRITE_DOCS=1 writes it anew. On locked memory and of ranks a part of
// them runs, with every pair of features among them.

#include <cstdlib>

#include "backend/cpu/kv_encoding.h"
#include "draft/speculators/testing/made_speculators.h"
#include "engine/testing/combination_choices.h"
#include "engine/testing/combination_table.h"
#include "engine/testing/engine_fixture.h"
#include "engine/testing/made_adapters.h"
#include "model/blocks/attention.h"
#include "model/moe_spec.h"

namespace millrace::engine {
namespace {

constexpr std::int64_t kAnswer = 20;
// One combination of so many runs, and with MILLRACE_TEST_ALL (./dev test --all) every one of those on the processor's
// memory and one rank. It shares no factor with the number of speculations times situations, so that every pair of
// features is still among them, which the test asserts.
constexpr int kStride = 7;

const std::vector<std::string> kModels = {"dense", "mixture of experts"};
const std::vector<std::string> kGrammars = {"any text", "grammar"};
const std::vector<std::string> kSpeculations = {"no speculation", "ngram", "suffix", "draft-model", "early-exit",
                                                "medusa",         "eagle", "mtp",    "tree"};
const std::vector<std::string> kAdapters = {"no adapter", "one adapter", "several adapters", "activated adapter"};
constexpr std::size_t kPrompt = 37;  // tokens of the first request's prompt
constexpr unsigned kPromptSeed = 5;
const std::vector<std::string> kSituations = {"alone", "in a batch", "prefix hit", "preempted", "steps in flight"};

// What keys and values are stored as: each sampler, grammar, score and kind of answer meets each.
std::vector<std::string> encodings() {
  std::vector<std::string> names;
  for (const backend::cpu::KvEncoding& encoding : backend::cpu::all_kv_encodings()) names.emplace_back(encoding.name);
  return names;
}

constexpr std::int64_t kExperts = 6, kExpertWidth = 16;

void add_experts(draft::MadeFiles& files, const std::string& layer) {
  files.random(layer + "mlp.gate.weight", Shape{kExperts, 32}, 1.0f);
  for (std::int64_t e = 0; e < kExperts; ++e) {
    const std::string expert = layer + "mlp.experts." + std::to_string(e);
    files.random(expert + ".gate_proj.weight", Shape{kExpertWidth, 32});
    files.random(expert + ".up_proj.weight", Shape{kExpertWidth, 32});
    files.random(expert + ".down_proj.weight", Shape{32, kExpertWidth});
  }
  for (const char* name : {"gate_proj", "up_proj", "down_proj"}) files.remove(layer + "mlp." + name + ".weight");
}

model::ModelSpec with_experts(model::ModelSpec spec) {
  model::ExpertsParams experts;
  experts.width = kExpertWidth;
  experts.routing = {.router = "softmax", .experts = kExperts, .chosen = 2, .normalised = true};
  experts.names = model::llama_expert_names("model.layers.{}.");
  model::use_experts(spec, experts, 0);
  return spec;
}

// What of the small model is another.
struct OtherModel {
  std::int64_t head_dim = 16;
  std::int64_t value_dim = 0;  // 0: values are of the size of keys
  std::vector<std::int64_t> windows = {0, 0};
  bool experts = false;
};

model::ModelSpec changed(model::ModelSpec spec, const OtherModel& other) {
  for (std::size_t i = 0; i < other.windows.size(); ++i) {
    auto& attention = spec.layers[i].get<model::AttentionParams>();
    attention.value_dim = other.value_dim;
    attention.window = other.windows[i];
  }
  return other.experts ? with_experts(std::move(spec)) : spec;
}

// The small model with random heads for speculation; attention of other head sizes is random too, and so are experts.
std::string model_with_speculator(const OtherModel& other) {
  const auto [head_dim, value_dim, windows, experts] = other;
  draft::MadeFiles files;
  files.copy(*checkpoint::open_checkpoint(Env::system(), kModel).or_throw());
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    if (head_dim != 16) draft::add_layer(files, layer, 32, 32, true, true, head_dim, value_dim);
    if (experts) add_experts(files, layer);
  }
  draft::RandomHeads{32, head_dim, value_dim}.add_mtp(files);
  return files.write(experts ? "combined_experts" : "combined",
                     draft::made_config("MiMoForCausalLM", 32, 2, "", head_dim));
}

class CombinationTest : public EngineTest {
 protected:
  explicit CombinationTest(const OtherModel& other = {})
      : EngineTest(model_with_speculator(other), nullptr,
                   [other](model::ModelSpec spec) { return changed(std::move(spec), other); }),
        heads_{32, other.head_dim, other.value_dim} {}

  // What number `i` of the requests that run together goes through, by the name in kAdapters: all the same, or one,
  // two, none by turns.
  std::vector<AdapterUse> adapters_of(const std::string& kind, std::size_t i) {
    if (kind == kAdapters[0]) return {};
    if (first_ == nullptr) {
      first_ = made_adapter(transformer_, *backend_, 1, 4);
      second_ = made_adapter(transformer_, *backend_, 2, 8);
      // Invoked by the first request's prompt amid its first page.
      const std::vector<std::int32_t> prompt = random_tokens(kPrompt, kPromptSeed);
      activated_ = made_adapter(transformer_, *backend_, 3, 4, {prompt[20], prompt[21], prompt[22]});
      adapters_->put("first", "", first_);
      adapters_->put("activated", "", activated_);
      adapters_->put("second", "", second_);
    }
    const AdapterUse first{first_->key(), 1.0f, first_}, second{second_->key(), -0.5f, second_};
    if (kind == kAdapters[1]) return {first};
    if (kind == kAdapters[3])
      return i % 2 == 0 ? std::vector{AdapterUse{activated_->key(), 1.0f, activated_}, second} : std::vector{second};
    return i % 3 == 0 ? std::vector{first, second} : i % 3 == 1 ? std::vector{second} : std::vector<AdapterUse>();
  }

  using Answers = std::map<int, Collected>;
  using Compiled = std::shared_ptr<grammar::CompiledGrammar>;

  std::unique_ptr<Engine> engine_with(const std::string& speculation, std::int64_t kv_tokens) {
    Config config;
    config.scheduling.max_batched_tokens = 48;
    config.jump_forward = false;
    config.swap_bytes = swap_bytes_;
    if (swap_bytes_ > 0) config.preemption = Preemption::kSwap;
    auto engine = make(config, kv_tokens, pages_);
    if (speculation == "no speculation") return engine;
    const bool tree = speculation == "tree";
    const std::string& heads = speculation == "medusa" ? medusa_ : eagle_;
    auto made = tree ? draft::make_drafter("ngram", {.values = OptionValues().set("ngram_min", 1.0)}).or_throw()
                     : drafter(speculation, pages_, heads);
    engine->speculate(
        std::move(made),
        SpeculationConfig{.tokens = 5, .adaptive = false, .max_branches = tree ? draft::kMaxBranches : 1});
    return engine;
  }

  // The answers to the first request, which alone has the grammar, of those that are submitted together.
  static Answers run(Engine& engine, const std::vector<Request>& requests, const Compiled& grammar = nullptr) {
    const RequestId id = engine.submit(requests.front(), grammar).or_throw();
    for (std::size_t i = 1; i < requests.size(); ++i) engine.submit(requests[i]).or_throw();
    return drain(engine, id);
  }

  Answers in_situation(const std::string& situation, const std::string& speculation, const Request& request,
                       const Compiled& grammar = nullptr) {
    const bool tight = situation == "preempted";
    depth_ = situation == "steps in flight" ? 3 : 1;
    window_pages_ = tight ? tight_window_pages_ : 0;
    const auto engine = engine_with(speculation, tight ? 288 : 4096);
    std::vector<Request> requests = {request};
    if (situation == "prefix hit") {
      std::vector<std::vector<AdapterUse>> earlier = {request.adapters};
      if (!request.adapters.empty()) earlier = {{}, adapters_of(adapter_kind_, 1), request.adapters};
      for (const std::vector<AdapterUse>& adapters : earlier) {
        Request before = this->request(0, 0);
        before.tokens = request.tokens;
        before.adapters = adapters;
        run(*engine, {before});
      }
    } else if (situation != "alone") {
      for (unsigned i = 0; i < 5; ++i) {
        requests.push_back(this->request(60 + i, 50 + i, 60));
        requests.back().priority = -1;
        requests.back().adapters = adapters_of(adapter_kind_, i + 1);
      }
    }
    Answers answers = run(*engine, requests, grammar);
    if (engine->cache().window() != nullptr) windows_evicted_ += engine->cache().window()->evicted();
    preemptions_ += tight ? engine->counters().preemptions : 0;
    swaps_ += engine->counters().swaps;
    hits_ += situation == "prefix hit" ? engine->counters().cached_tokens : 0;
    accepted_ += engine->counters().accepted_tokens;
    on_branches_ += engine->counters().accepted_branch_tokens;
    rejected_ += engine->counters().drafted_tokens - engine->counters().accepted_tokens;
    return answers;
  }

  static void expect_same(const Answers& answers, const Answers& plain) {
    ASSERT_EQ(answers.size(), plain.size());
    for (const auto& [choice, expected] : plain) {
      const Collected& answer = answers.at(choice);
      EXPECT_EQ(answer.tokens, expected.tokens);
      EXPECT_EQ(answer.text, expected.text);
      EXPECT_EQ(answer.scores, expected.scores);
      EXPECT_EQ(answer.last.finish, expected.last.finish);
    }
  }

  // Every combination, or one of `stride`.
  void run_combinations(SeenFeatures& seen, const std::string& model, int stride);
  void expect_what_happened() const;
  void expect_plain_in_every_layout(std::size_t first);

  // Each answer is the beginning of what its grammar asks for.
  static void expect_sums(const Answers& answers, const Compiled& asked) {
    if (asked == nullptr) return;
    for (const auto& [choice, answer] : answers) {
      EXPECT_EQ(answer.last.finish, FinishReason::kLength);
      EXPECT_TRUE(grammar::Matcher(asked).accept_bytes(answer.text)) << answer.text;
    }
  }

  backend::KvFormat pages_ = backend::cpu::choose_pages("bf16", "vector16", 16).or_throw();
  const draft::RandomHeads heads_;
  std::size_t swap_bytes_ = 0;
  std::string adapter_kind_ = kAdapters[0];
  std::shared_ptr<const model::Adapter> first_, second_, activated_;
  std::int32_t tight_window_pages_ = 0;
  const std::string medusa_ = heads_.medusa().write("combined_medusa", draft::RandomHeads::medusa_config());
  const std::string eagle_ = heads_.eagle().write("combined_eagle", heads_.eagle_config());
  std::int64_t preemptions_ = 0, swaps_ = 0, hits_ = 0, accepted_ = 0, rejected_ = 0, on_branches_ = 0,
               windows_evicted_ = 0;
};

void CombinationTest::run_combinations(SeenFeatures& seen, const std::string& model, int stride) {
  int combination = 0, choices = 0;
  const std::vector<std::string> stored = encodings();
  grammar::WorkMeter meter;
  const auto compiled = grammar::compile(sums(), grammar::make_vocabulary(tokenizer_), meter).or_throw();
  for (const Choice& sampler : samplers()) {
    ++choices;  // so that the next sampler begins with another encoding
    for (const std::string& grammar : kGrammars) {
      for (const Choice& score : scores()) {
        for (const Choice& answer : answers()) {
          Request asked = request(kPrompt, kPromptSeed, kAnswer);
          sampler.apply(asked);
          score.apply(asked);
          answer.apply(asked);
          const Compiled fits = grammar == "grammar" ? compiled : nullptr;
          const std::string& encoding = stored[static_cast<std::size_t>(choices++) % stored.size()];
          pages_ = backend::cpu::choose_pages(encoding, "vector16", 16).or_throw();
          adapter_kind_ = kAdapters[static_cast<std::size_t>(choices) % kAdapters.size()];
          asked.adapters = adapters_of(adapter_kind_, 0);
          const Answers plain = run(*engine_with("no speculation", 4096), {asked}, fits);
          expect_sums(plain, fits);
          for (const std::string& speculation : kSpeculations) {
            for (const std::string& situation : kSituations) {
              if (combination++ % stride != 0) continue;
              SCOPED_TRACE(model + ", " + sampler.name + ", " + grammar + ", " + score.name + ", " + answer.name +
                           ", " + speculation + ", " + situation + ", " + encoding + ", " + adapter_kind_);
              expect_same(in_situation(situation, speculation, asked, fits), plain);
              if (HasFailure()) return;
              seen.add({model, sampler.name, grammar, score.name, answer.name, speculation, situation, encoding,
                        adapter_kind_});
            }
          }
        }
      }
    }
  }
}

void CombinationTest::expect_what_happened() const {
  EXPECT_GT(preemptions_, 0);
  EXPECT_GT(hits_, 0);
  EXPECT_GT(accepted_, 0);
  EXPECT_GT(rejected_, 0);
  EXPECT_GT(on_branches_, 0);
}

class MixtureCombinations : public CombinationTest {
 public:
  MixtureCombinations() : CombinationTest(OtherModel{.experts = true}) {}
  void add_to(SeenFeatures& seen) {
    run_combinations(seen, kModels[1], kStride);
    expect_what_happened();
  }

 private:
  void TestBody() override {}
};

TEST_F(CombinationTest, OfAnyFeaturesGiveWhatThePlainPathGives) {
  SeenFeatures seen;
  const bool is_other = backend::test_memory_is_locked() || transformer_.part().is_shared();
  const int stride = is_other || std::getenv("MILLRACE_TEST_ALL") == nullptr ? kStride : 1;
  run_combinations(seen, kModels[0], stride);
  expect_what_happened();
  if (HasFailure()) return;
  MixtureCombinations().add_to(seen);
  if (HasFailure()) return;
  const std::string table = seen.table({names_of(samplers()), kGrammars, kSpeculations, kModels, names_of(scores()),
                                        names_of(answers()), kSituations, encodings(), kAdapters});
  EXPECT_EQ(table.find("no**"), std::string::npos) << table;
  if (stride > 1) return;
  if (std::getenv("MILLRACE_WRITE_DOCS") != nullptr) write_documented(table);
  EXPECT_EQ(documented(), table) << "MILLRACE_WRITE_DOCS=1 engine_test writes the table anew";
}

// Alone and beside others, also preempted and swapped out, with every drafter: in every layout, and in encodings from
// number `first` of the table on.
void CombinationTest::expect_plain_in_every_layout(std::size_t first) {
  const std::vector<std::string> stored = encodings();
  for (const std::string_view layout : {"vector16", "paged32", "token"}) {
    const std::string& encoding = stored[first++ % stored.size()];
    SCOPED_TRACE(encoding);
    pages_ = backend::cpu::choose_pages(encoding, layout, 0).or_throw();
    Request asked = request(kPrompt, kPromptSeed, kAnswer);
    const Answers plain = run(*engine_with("no speculation", 4096), {asked});
    for (const std::string& speculation : kSpeculations) {
      for (const std::string& situation : kSituations) {
        for (const std::size_t swap : {std::size_t{0}, std::size_t{8} << 20}) {
          if (swap > 0 && situation != "preempted") continue;
          SCOPED_TRACE(std::string(layout) + ", " + speculation + ", " + situation + ", " + std::to_string(swap));
          swap_bytes_ = swap;
          expect_same(in_situation(situation, speculation, asked), plain);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(preemptions_, 0);
  EXPECT_GT(hits_, 0);
  EXPECT_GT(accepted_, 0);
  EXPECT_GT(rejected_, 0);
  EXPECT_GT(swaps_, 0);
}

// Heads that pages pad, of the model and of what speculates.
class PaddedHeads : public CombinationTest {
 protected:
  PaddedHeads() : CombinationTest(OtherModel{.head_dim = 20}) {}
};

TEST_F(PaddedHeads, GiveWhatThePlainPathGivesInEveryLayoutAlsoSwapped) { expect_plain_in_every_layout(0); }

class OtherValues : public CombinationTest {
 protected:
  OtherValues() : CombinationTest(OtherModel{.head_dim = 20, .value_dim = 12}) {}
};

TEST_F(OtherValues, GiveWhatThePlainPathGivesInEveryLayoutAlsoSwapped) { expect_plain_in_every_layout(3); }

// One layer with a window, or both; where pages are short, window pages are too.
class OneWindow : public CombinationTest {
 protected:
  OneWindow() : CombinationTest(OtherModel{.windows = {19, 0}}) { tight_window_pages_ = 9; }
};

TEST_F(OneWindow, GivesWhatThePlainPathGivesInEveryLayoutAlsoSwapped) {
  expect_plain_in_every_layout(4);
  EXPECT_GT(windows_evicted_, 0);
}

// Several answers and beams share pages of which each needs others' window pages.
TEST_F(OneWindow, GivesWhatThePlainPathGivesForEveryKindOfAnswer) {
  for (const Choice& score : {scores().front(), scores().back()}) {
    for (const Choice& answer : answers()) {
      Request asked = request(kPrompt, kPromptSeed, kAnswer);
      score.apply(asked);
      answer.apply(asked);
      const Answers plain = run(*engine_with("no speculation", 4096), {asked});
      for (const std::string& speculation : kSpeculations) {
        for (const std::string& situation : kSituations) {
          SCOPED_TRACE(score.name + ", " + answer.name + ", " + speculation + ", " + situation);
          expect_same(in_situation(situation, speculation, asked), plain);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(preemptions_, 0);
  EXPECT_GT(hits_, 0);
  EXPECT_GT(on_branches_, 0);
  EXPECT_GT(windows_evicted_, 0);
}

class TwoWindows : public CombinationTest {
 protected:
  TwoWindows() : CombinationTest(OtherModel{.windows = {40, 11}}) { tight_window_pages_ = 12; }
};

TEST_F(TwoWindows, GiveWhatThePlainPathGivesInEveryLayoutAlsoSwapped) {
  expect_plain_in_every_layout(2);
  EXPECT_GT(windows_evicted_, 0);
}

}  // namespace
}  // namespace millrace::engine
