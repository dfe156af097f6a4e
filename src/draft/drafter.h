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

inline constexpr std::int64_t kMaxTokens = 64;  // limit of the length of a draft
inline constexpr int kMaxBranches = 4;          // limit of branches of a sequence's draft tree, the main one included

// A draft token: a proposal for one of the answer's next tokens.
struct Token {
  std::int32_t token = 0;
  float confidence = 0.0f;  // the drafter's estimate that it is right if those before it are; [0, 1], not calibrated
};

// A further branch of the draft tree: an alternative to the draft from one of its tokens on.
struct Branch {
  std::int64_t from = 0;      // number of the draft's tokens before it; [0, drafts.size()]
  std::vector<Token> tokens;  // at least one; `from` and these together at most Task::most
};

// A sequence whose next tokens are to be drafted, and its draft.
struct Task {
  std::uint64_t sequence = 0;            // id; stays the same from call to call
  std::string_view scope;                // of its pages: a drafter must not learn from sequences of another scope
  std::span<const std::int32_t> tokens;  // prompt and answer so far, at least one
  std::int64_t prompt_tokens = 0;
  std::int64_t most = 0;                             // limit of draft tokens; [1, kMaxTokens]
  const decode::LogitsPipeline* pipeline = nullptr;  // the target's pipeline after `tokens`
  std::span<const kv::BlockId> pages;                // hold at least tokens.size() + most - 1 positions
  std::span<const kv::BlockId> window_pages;         // the same in layers with a window (StepInput); may be empty
  bool wants_distributions = false;                  // whether the verification rule uses `distributions`
  std::int64_t further_branches = 0;                 // wanted besides the draft; [0, kMaxBranches - 1]
  std::vector<Token> drafts;                         // the result; empty where nothing is drafted
  // By draft token, the distribution that it was sampled from; empty where the drafter chose it with certainty.
  std::vector<std::vector<decode::TokenProbability>> distributions;
  std::vector<Branch> branches;  // the likeliest first; all begin with different tokens
};

// Bytes that drafting takes on the backend besides the target's.
struct DraftMemory {
  std::size_t weights = 0;
  std::size_t pages = 0;      // keys, values and states, under the page numbers of the target
  std::size_t workspace = 0;  // of the drafter's passes
  std::size_t total() const noexcept { return weights + pages + workspace; }
};

// Proposes the next tokens of answers. A wrong proposal costs time, never correctness. Called on the engine's thread,
// between steps.
class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual void draft(std::span<Task> tasks) = 0;
  // The sequence has ended with these tokens, prompt and answer.
  virtual void ended(std::uint64_t /*sequence*/, std::string_view /*scope*/, std::span<const std::int32_t> /*tokens*/) {
  }
  // Whether each draft token takes a pass of a model and a position in the sequence's pages.
  virtual bool computes() const noexcept { return false; }
  // The listener for changes of the target's pages, if the drafter keeps memory beside them; null: none.
  virtual kv::PageListener* listener() noexcept { return nullptr; }
  // The hook that reads the target's hidden states; null: none.
  virtual model::HiddenStateHook* hook() noexcept { return nullptr; }
  // Memory allocated when the drafter was made; drafting allocates no more on the backend.
  virtual DraftMemory memory() const noexcept { return {}; }
};

// What a drafter with a model needs of the target. Everything must outlive the drafter unless it says otherwise.
struct DraftPlace {
  model::Transformer* target = nullptr;
  const checkpoint::Checkpoint* checkpoint = nullptr;  // the target's; only while drafters are made
  const kv::KvStore* store = nullptr;                  // the target's keys and values
  backend::Backend* backend = nullptr;
  backend::KvFormat form;
  std::int32_t pages = 0;
  backend::MatmulPrecision precision = backend::MatmulPrecision::kAuto;
  std::int64_t step_tokens = 512;  // tokens of the largest step whose hidden states are kept
  std::int64_t sequences = 64;     // that drafts are made for at once; further ones get none
};

// What drafters are made from. Each kind reads the fields that it needs.
struct DrafterOptions {
  OptionValues values = {};                        // of the options that the kind declares
  std::shared_ptr<model::Transformer> model = {};  // the draft model, on the target's backend
  std::uint64_t model_key = 0;                     // of its weights' content (checkpoint::content_key)
  std::string heads = {};                          // directory of trained heads
  DraftPlace place = {};                           // only for drafters with a model or heads
};

// What --spec-model must name for a drafter.
enum class Needs { kNothing, kModel, kHeads };

// One kind of drafter. Each is a file in drafters/.
struct DrafterKind {
  std::string_view name, description;
  Result<std::unique_ptr<Drafter>> (*make)(const DrafterOptions&);  // numbers of the options have been checked
  Needs needs = Needs::kNothing;
  // Bytes that the drafter will keep for each page of the target, before there are pages. It reads of `place` only what
  // does not need pages. Null: none.
  Result<std::size_t> (*page_bytes)(const DrafterOptions&) = nullptr;
  // Bytes that the weights of its heads will take, before they or the target are loaded. It reads of `place` the
  // backend and the precision. Null: none.
  Result<std::size_t> (*weight_bytes)(const DrafterOptions&) = nullptr;
  std::vector<OptionSpec> options = {};
};
std::span<const DrafterKind> all_drafters();                      // generated by CMake
const DrafterKind* find_drafter(std::string_view name) noexcept;  // null if there is none of that name
// Makes a drafter. kInvalidArgument lists the known names, or names an option, its value and the limit.
Result<std::unique_ptr<Drafter>> make_drafter(std::string_view name, const DrafterOptions& options = {});
// DrafterKind::page_bytes of the drafter that these options would make; 0 without one. kInvalidArgument for an unknown
// name.
Result<std::size_t> page_bytes(std::string_view name, const DrafterOptions& options);

// The confidence in a draft token that followed on the same `alike` tokens before.
inline float confidence_of(std::int64_t alike) noexcept { return 1.0f - 1.0f / static_cast<float>(1 + alike); }

}  // namespace millrace::draft
