#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/option_spec.h"
#include "base/result.h"
#include "decode/logits_pipeline.h"
#include "kv/kv_store.h"
#include "kv/page_listener.h"
#include "model/transformer.h"

namespace millrace::draft {

inline constexpr std::int64_t kMaxTokens = 64;  // of one draft
inline constexpr int kMaxBranches = 4;          // of a sequence's draft tree, the main one included

// A draft token: what an answer's next token may be.
struct Token {
  std::int32_t token = 0;
  float confidence = 0.0f;  // the drafter's own, that it is right if those before it are; [0, 1], to be calibrated
};

// A further branch of the draft tree: what else may follow on the first tokens of a draft.
struct Branch {
  std::int64_t from = 0;      // so many tokens of the draft come before it; [0, drafts.size()]
  std::vector<Token> tokens;  // at least one; no more than Task::most with those before
};

// A sequence whose next tokens are to be drafted.
struct Task {
  std::uint64_t sequence = 0;            // the same from call to call
  std::string_view scope;                // of its pages: nothing may be learnt from sequences of another
  std::span<const std::int32_t> tokens;  // prompt and answer so far, at least one
  std::int64_t prompt_tokens = 0;
  std::int64_t most = 0;                             // tokens wanted, [1, kMaxTokens]
  const decode::LogitsPipeline* pipeline = nullptr;  // as it is after `tokens`
  std::span<const kv::BlockId> pages;                // with room for tokens.size() + most - 1 positions
  bool wants_distributions = false;                  // for rules of verification that go by them
  std::int64_t further_branches = 0;                 // wanted besides the draft, [0, kMaxBranches - 1]
  std::vector<Token> drafts;                         // the result; empty where nothing is drafted
  // For each draft token, what it was sampled from; empty where the drafter has nothing else in mind.
  std::vector<std::vector<decode::TokenProbability>> distributions;
  std::vector<Branch> branches;  // the likeliest first; no two begin alike
};

// Bytes on the backend beside the target's.
struct DraftMemory {
  std::size_t weights = 0;
  std::size_t pages = 0;      // keys, values and states, in pages of the target's numbers
  std::size_t workspace = 0;  // of its passes
  std::size_t total() const noexcept { return weights + pages + workspace; }
};

// Proposes what answers go on with. A wrong proposal costs time, never correctness. On the engine's thread, between
// steps.
class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual void draft(std::span<Task> tasks) = 0;
  // The sequence ended with these tokens.
  virtual void ended(std::uint64_t /*sequence*/, std::string_view /*scope*/, std::span<const std::int32_t> /*tokens*/) {
  }
  // Whether each token takes a pass of a model, and room in the sequence's pages.
  virtual bool computes() const noexcept { return false; }
  // The listener that keeps something beside the target's pages; null: none.
  virtual kv::PageListener* listener() noexcept { return nullptr; }
  // The hook that wants to see the target's states; null: none.
  virtual model::HiddenStateHook* hook() noexcept { return nullptr; }
  // What it took when it was made; drafting takes no more of the backend's memory.
  virtual DraftMemory memory() const noexcept { return {}; }
};

// Where a model drafts. Everything outlives the drafter.
struct DraftPlace {
  model::Transformer* target = nullptr;
  const checkpoint::Checkpoint* checkpoint = nullptr;  // the target's; only while drafters are made
  const kv::KvStore* store = nullptr;                  // the target's keys and values
  backend::Backend* backend = nullptr;
  backend::KvFormat form;
  std::int32_t pages = 0;
  backend::MatmulPrecision precision = backend::MatmulPrecision::kAuto;
  std::int64_t step_tokens = 512;  // of the target's largest step: of longer ones no states are kept
  std::int64_t sequences = 64;     // that are drafted for at once; further ones get no draft
};

// What drafters are made from. Each reads what it knows.
struct DrafterOptions {
  OptionValues values = {};                        // of the options that the drafter's kind declares
  std::shared_ptr<model::Transformer> model = {};  // that drafts, on the target's backend
  std::string heads = {};                          // a directory
  DraftPlace place = {};                           // needed where a model drafts
};

// What a drafter needs beside the target, which --spec-model names.
enum class Needs { kNothing, kModel, kHeads };

// One file each in drafters/.
struct DrafterKind {
  std::string_view name, description;
  Result<std::unique_ptr<Drafter>> (*make)(const DrafterOptions&);  // numbers of the options are in range
  Needs needs = Needs::kNothing;
  // What it will keep beside each of the target's pages, bytes: to know before there are any. Reads of the options'
  // place what is there without pages. Null: nothing.
  Result<std::size_t> (*page_bytes)(const DrafterOptions&) = nullptr;
  // What the weights of its heads will take: to know before they are loaded, or the target is. Reads of the options'
  // place the backend and the precision. Null: nothing.
  Result<std::size_t> (*weight_bytes)(const DrafterOptions&) = nullptr;
  std::vector<OptionSpec> options = {};
};
std::span<const DrafterKind> all_drafters();                      // generated by CMake
const DrafterKind* find_drafter(std::string_view name) noexcept;  // null if there is none
// kInvalidArgument listing the names, or naming an option, its value and the limit.
Result<std::unique_ptr<Drafter>> make_drafter(std::string_view name, const DrafterOptions& options = {});
// The page bytes of the drafter that these options would make. kInvalidArgument for an unknown name.
Result<std::size_t> page_bytes(std::string_view name, const DrafterOptions& options);

// The confidence of a draft token that `alike` tokens before it speak for.
inline float confidence_of(std::int64_t alike) noexcept { return 1.0f - 1.0f / static_cast<float>(1 + alike); }

}  // namespace millrace::draft
