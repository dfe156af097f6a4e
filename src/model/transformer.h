#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "comm/communicator.h"
#include "kv/kv_store.h"
#include "model/batch_input.h"
#include "model/layer_stack.h"
#include "model/load_quantization.h"
#include "model/model_spec.h"
#include "model/norm_weights.h"
#include "model/ranks/rank_answers.h"
#include "model/ranks/stage_link.h"
#include "model/ranks/stage_states.h"
#include "model/rope.h"
#include "model/weight_walk.h"
#include "tensor/view.h"

namespace millrace::model {

class RankLeader;
struct TransformerWorkspace;

struct ModelOptions {
  backend::MatmulPrecision precision = backend::MatmulPrecision::kAuto;
  std::int64_t max_length = 0;  // limit of a sequence's tokens; 0 = the model's context length
  LoadQuantization quantization = {};
  // Where ranks share the model; null: it is whole, on whatever rank. `group` is what they have in common, the
  // backend's communicator. Rank 0 has a leader too, and all that it does with the model makes the others do it.
  std::shared_ptr<const Shards> shards = nullptr;
  std::shared_ptr<comm::Communicator> group = nullptr;
  std::shared_ptr<RankLeader> leader = nullptr;
  double weight_round_ms = WeightWalk::kRoundMs;  // of steps, in which all weights are compared with their checksums
  // Gets the bytes of weights loaded so far and the bytes of all, after each layer, on the loading thread. May be
  // empty.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};

// F32 columns of the activations of each row of a step. `shared`: by ranks.
std::int64_t step_columns(const ModelSpec& spec, bool shared = false);

// A decoder-only transformer on one device, or a rank's part of it. Const after load. forward() uses the one workspace,
// so one call at a time.
class Transformer {
 public:
  // Reads and packs every weight of the checkpoint. Throws LoadError naming tensor, expected and found shape.
  Transformer(const checkpoint::Checkpoint& checkpoint, ModelSpec spec, backend::Backend& backend,
              const ModelOptions& options);

  const ModelSpec& spec() const noexcept { return spec_; }
  std::int64_t max_length() const noexcept { return max_length_; }
  // The length by which the positions of a sequence are rotated that may grow to `tokens` tokens: longrope and dynamic
  // scaling choose by it. A sequence must keep one from its first token on, as its keys are stored rotated. 0: as all
  // sequences are, or as those are that stay within the original context.
  std::int64_t rope_length(std::int64_t tokens) const noexcept;
  // The KV groups of a KvStore for this model, of this rank or of another one.
  kv::KvGroups kv_groups(const backend::KvFormat& form, std::optional<int> rank = {}) const;
  const RankShards& part() const noexcept { return shards_; }
  RankLeader* leader() const noexcept { return leader_.get(); }  // null: there is one rank, or this is not rank 0

  // A store for this model, on all its ranks: see KvStore::create().
  Result<kv::KvStore> make_store(const backend::KvFormat& form, std::int32_t pages, std::int32_t window_pages = 0);

  // Allocates the memory for steps of so many rows, and rows with logits. Steps up to these sizes allocate nothing.
  // Returns the bytes. Throws LoadError (kResourceExhausted).
  std::size_t reserve(std::int64_t rows, std::int64_t logit_rows);
  // Runs the step: writes keys and values into the store's pages, passes rows to the sink and states to the hook.
  // Returns logits [logit_rows, V] f32, valid until the next call. Throws LoadError (kResourceExhausted) if memory for
  // so many rows is lacking; a smaller step may then still succeed. kUnavailable where ranks share the model and this
  // or another one cannot go on: then no step that has begun will be finished, see RankLeader::restore(). Throws
  // DamagedWeights, of rank 0 or where there is one.
  TensorView forward(const BatchInput& input, const kv::KvStore& store);
  // The same in two parts, where part().stages() > 1 and this is rank 0: begin() returns when this stage has computed
  // the step and the next one goes on with it. Further ones may begin before finish(), which is for the oldest, and has
  // its input. Rows that one step writes another may only read if it begins later.
  void begin(const BatchInput& input, const kv::KvStore& store);
  // `step`: another one than the oldest, its number among those that have begun and are not finished.
  TensorView finish(const BatchInput& input, std::size_t step = 0);
  // What a rank behind rank 0 reports of the last step, but for what follows from its command. `checks_residual`: with
  // the key of the rows behind its last layer, which costs what reading them does.
  RankReport report(bool checks_residual);
  // See Backend::take_kv_overflows(); of all ranks.
  std::vector<backend::KvOverflow> take_kv_overflows();
  // What came of the last step beside its logits, on all ranks.
  struct Notes {
    ExpertUse experts;               // what its rows chose
    std::int64_t weight_rounds = 0;  // WeightWalk::rounds() of the rank that has fewest
  };
  const Notes& notes() const noexcept { return notes_; }

  // For speculators on rank 0, before all below: reads the whole embedding and head on this rank, if ranks share the
  // model. The checkpoint is that of the model. kUnsupported where embeddings are of another size than the layers.
  void hold_vocabulary(const checkpoint::Checkpoint& checkpoint);
  // The weights that turn hidden states into logits and tokens into rows, for speculators that compute with these
  // states.
  backend::Norm final_norm() const noexcept { return final_norm_.view(); }
  // Computes logits [rows, V] of these rows of x [T, E], behind that norm; no rows are all. `rows` must stay until the
  // backend has synchronized, and so must `adapters`, what adapters of the rows add to the head.
  void compute_logits(const backend::Norm& norm, std::span<const std::int64_t> rows, backend::DeviceView x,
                      backend::DeviceView out, std::span<const backend::AdapterRows> adapters = {}) const;
  const backend::Linear& head() const noexcept {
    return held_.embedding == nullptr ? *own_head_ : held_.head ? *held_.head : *held_.embedding;
  }
  const backend::Linear& embedding() const noexcept { return held_.embedding ? *held_.embedding : *embedding_; }

  // Its layers, for what goes through their products.
  const LayerStack& layers() const noexcept { return *layers_; }
  // The rows of the vocabulary that this rank has.
  RowRange vocabulary_rows() const noexcept;
  // The matrix of a place outside the layers, of a vocabulary those rows; null if the model has none.
  const backend::Linear* outer(OuterPlace place) const noexcept;
  backend::MatmulPrecision precision() const noexcept { return precision_; }

  // Every weight matrix.
  std::vector<backend::Linear*> linears() const;
  // See backend::Linear; of all ranks. The statistics of a weight are those of all its rows.
  void set_int8x2(std::span<const std::string> weights);
  void start_rounding_statistics();
  std::vector<backend::RoundingStatistics> take_rounding_statistics();

  // Bytes of weights that a step of so many rows reads: all but the embedding table, unless the output head is tied to
  // it, and of experts those that rows choosing at random touch; of 0 rows what every step reads.
  double weight_bytes(double rows) const noexcept;
  std::size_t weight_bytes() const noexcept;

 private:
  void load(const checkpoint::Checkpoint& checkpoint, const ModelOptions& options);
  void load_positions(WeightLoader& loader, const ModelOptions& options);
  void load_head(WeightLoader& loader, const ModelOptions& options);
  // compute_logits() of all ranks; rank 0 gets those of the whole vocabulary.
  void logits_of_ranks(std::span<const std::int64_t> rows, backend::DeviceView out,
                       std::span<const backend::AdapterRows> adapters);
  void multiply_head(const backend::Linear& head, backend::DeviceAddress bias, const backend::Norm& norm,
                     std::span<const std::int64_t> rows, backend::DeviceView x, backend::DeviceView out,
                     std::span<const backend::AdapterRows> adapters) const;
  void prepare_workspace(const BatchInput& input);
  // What begin() does when the others know of the step of that number.
  void compute(const BatchInput& input, const kv::KvStore& store, std::uint64_t number);
  void embed(const BatchInput& input);
  // Passes rows to the sink: computed here, or by the last stage for rank 0, of that step.
  void feed(const BatchInput& input, std::size_t step);

  ModelSpec spec_;
  backend::Backend& backend_;
  RankShards shards_;
  std::shared_ptr<comm::Communicator> group_;  // null: there is one rank
  StageLink link_;
  StageStates states_;
  std::shared_ptr<RankLeader> leader_;  // of rank 0
  RankColumns vocabulary_;
  std::int64_t max_length_;
  backend::MatmulPrecision precision_;
  const std::vector<Rope>& ropes_of(std::int64_t length);
  void rotate(const BatchInput& input);

  std::vector<RopeConfig> rope_configs_;
  std::vector<float> rope_divisors_;                               // of all frequencies, as GGUF has them; empty = 1
  std::map<std::int64_t, std::vector<Rope>> ropes_;                // by rope_length()
  std::unique_ptr<backend::Linear> embedding_, positions_, head_;  // head_ is null when tied
  backend::Linear* own_head_ = nullptr;                            // or the embedding; null before the last stage
  std::unique_ptr<backend::Linear> project_in_, project_out_;      // null where embeddings are of the layers' size
  backend::DeviceVector head_bias_;
  LoadQuantization quantization_;
  struct Vocabulary {
    std::unique_ptr<backend::Linear> embedding, head;  // head is null when tied
    backend::DeviceVector head_bias;
  };
  Vocabulary held_;  // see hold_vocabulary()
  NormWeights embedding_norm_, final_norm_;
  std::unique_ptr<LayerStack> layers_;
  std::vector<const backend::Linear*> weights_;  // of this rank, each once
  std::unique_ptr<WeightWalk> walk_;             // over them
  std::unique_ptr<TransformerWorkspace> workspace_;
  Notes notes_;
  struct Begun {  // a step that is not finished
    ExpertUse experts;
    StageStates::Kept states;
  };
  std::deque<Begun> begun_;
  std::vector<backend::KvOverflow> overflows_;  // of other ranks
  std::set<std::string> encodings_;             // that these name

 public:
  ~Transformer();
};

}  // namespace millrace::model
