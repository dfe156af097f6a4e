#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kv/kv_store.h"
#include "model/block_loader.h"

namespace millrace::model {

// Memory that the blocks of a model need for a step besides the residual stream.
struct StackWorkspace {
  std::int64_t columns = 0;          // f32 columns for each row of a step: the maximum over blocks
  std::int64_t ffn = 0, routed = 0;  // the largest (Backend::workspace_bytes)
};
// `shared`: by ranks.
StackWorkspace stack_workspace(const ModelSpec& spec, bool shared = false);

// The layers of a model with their weights, in order. Const after load; one run at a time.
class LayerStack {
 public:
  // Reads the blocks of all layers of the spec, or those of the rank's stage: no others may run. `before(i)` is called
  // before layer i is read. Throws LoadError naming tensor, expected and found shape.
  LayerStack(WeightLoader& weights, const ModelSpec& spec, backend::Backend& backend,
             backend::MatmulPrecision precision, const RankShards& shards = {},
             const std::function<void(std::int64_t layer)>& before = {});

  std::int64_t size() const noexcept { return std::ssize(layers_); }
  // Places of products: those of all layers, and those outside.
  std::int64_t places() const noexcept { return places_; }
  // The products of one block of a layer; none if the layer has no such block, or no weights of its own.
  std::vector<const Product*> products(std::int64_t layer, std::size_t block) const;
  // Runs one layer over the rows, of which `output` and `accumulate` are set here. Its blocks read and write keys and
  // values in the store, which must be made for kv_needs(spec).
  void run(backend::Backend& backend, std::int64_t layer, const BlockRows& rows, const kv::KvStore& store) const;

  // Adds what the rows of that layer's last run chose among experts.
  void count_experts(backend::Backend& backend, std::int64_t layer, ExpertUse& use) const;

  std::vector<backend::Linear*> linears() const;    // each once, in the order in which they run
  double weight_bytes(double rows) const noexcept;  // see Block
  // Format and kernel of the largest matrix of the first layer's last block, as text for people.
  std::string description() const;

 private:
  struct Entry {
    std::shared_ptr<const Block> block;
    std::int64_t kv_layer;  // of the store; -1: it keeps nothing
    BlockOutput output;
    NormWeights norm, sum_norm;  // of the output
  };
  struct Layer {
    ResidualForm residual = ResidualForm::kSequential;
    bool has_weights = true;  // not those of an earlier layer
    std::vector<Entry> entries;
  };
  static void join(backend::Backend& backend, const Entry& entry, const backend::DeviceView& output,
                   const backend::DeviceView& residual);
  static void run(backend::Backend& backend, const Entry& entry, const BlockRows& rows, const kv::KvStore& store);
  void run_parallel(backend::Backend& backend, const Layer& layer, const BlockRows& rows,
                    const kv::KvStore& store) const;

  std::vector<Layer> layers_;
  std::int64_t places_ = 0;
};

}  // namespace millrace::model
