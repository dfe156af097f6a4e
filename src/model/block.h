#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "kv/kv_groups.h"
#include "model/adapters/step_adapters.h"
#include "model/expert_use.h"
#include "model/model_spec.h"
#include "model/product.h"

namespace millrace::model {

class BlockLoader;

// Memory for rows of f32, handed out in parts. Each part begins on a cache line if the memory does.
class RowSpace {
 public:
  RowSpace() = default;
  RowSpace(backend::DeviceAddress memory, std::int64_t rows) : at_(memory), rows_(rows) {}
  backend::DeviceView take(std::int64_t columns) noexcept {  // [rows, columns]
    backend::DeviceView view(at_, DType::kF32, {rows_, columns});
    at_ = at_ + static_cast<std::size_t>(rows_ * padded(columns)) * sizeof(float);
    return view;
  }
  // Columns that a part of `columns` columns takes.
  static constexpr std::int64_t padded(std::int64_t columns) noexcept { return (columns + 15) / 16 * 16; }

 private:
  backend::DeviceAddress at_;
  std::int64_t rows_ = 0;
};

// Inputs and memory of a block in a step of T rows, all f32.
struct BlockRows {
  backend::DeviceView residual;  // [T, E], the input
  backend::DeviceView input;     // [T, I], only for blocks that read another input than the residual
  // [T, E]: the block's last product is written there or, if `accumulate`, added. It is the residual itself where that
  // is all that happens to the output (BlockOutput::plain, replaces); LayerStack sees to the rest.
  backend::DeviceView output;
  bool accumulate = true;
  std::span<const backend::DeviceView> cos_sin;             // [T, rotated] each, in the order of ModelSpec::ropes
  backend::DeviceView query_scale;                          // [T, 1], if ModelSpec::query_scale
  std::span<const backend::SequenceRows> sequences;         // with their pages in the block's layer
  std::span<const backend::SequenceRows> window_sequences;  // with their window pages (KvStore); LayerStack chooses
  StepAdapters* adapters = nullptr;                         // null: no row has one
  RowSpace space;  // the block's workspace; its contents end with the block's run

  // What the rows' adapters add to a product of the block.
  std::span<const backend::AdapterRows> adapters_of(const Product& product) const {
    return adapters == nullptr ? std::span<const backend::AdapterRows>() : adapters->of(product.place);
  }
};

// A block with its weights. Const after load; one run at a time.
class Block {
 public:
  virtual ~Block() = default;
  // Computes the block's output. `pages` belong to the block's layer of the KvStore if it keeps keys and values.
  virtual void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages& pages) const = 0;
  // Every product of the block, in the order in which they were loaded.
  virtual std::vector<const Product*> products() const = 0;
  std::vector<backend::Linear*> linears() const;  // their matrices
  // Bytes of weights that a step of so many rows reads: all, unless rows choose among them; then what is expected of
  // rows that choose at random.
  virtual double weight_bytes(double rows) const noexcept;
  // Adds what the rows of the last run chose among experts, when the backend has synchronized.
  virtual void count_experts(backend::Backend&, ExpertUse&) const {}
};

// Work of computing one token. A multiply and an add are two operations. Norms, rotations and activations, which are
// below a hundredth, are left out. kv::KvNeed has the size of keys and values.
struct BlockWork {
  double operations = 0.0;          // independent of the tokens before
  double operations_per_key = 0.0;  // for each token within the window
  // Where ranks share the model: columns of f32 that a row has in each exchange between them, in order.
  std::vector<std::int64_t> exchanges = {};
};

// Memory that a block needs for a step.
struct BlockWorkspace {
  // Widths of its parts of RowSpace, in f32 columns, in the order in which run() takes them.
  std::vector<std::int64_t> columns;
  std::vector<std::int64_t> columns_of_ranks = {};  // likewise, behind them, where ranks share the model
  std::int64_t ffn = 0, routed = 0;                 // see Backend::workspace_bytes
};

// The rows of a tensor that make one weight: runs of `run` rows, `stride` rows apart, the first at `first`.
struct RowSlice {
  std::int64_t first = 0;
  std::int64_t run = 0;  // 0: all rows of the tensor, in order
  std::int64_t stride = 0;
  std::int64_t of = 0;  // rows of the tensor

  bool whole() const noexcept { return run == 0; }
  std::int64_t row(std::int64_t i) const noexcept { return whole() ? i : first + i / run * stride + i % run; }
};

// Heads that a file has in the order in which they take `groups` key/value heads by turns. Loading puts those of a
// group side by side.
struct HeadTurns {
  std::int64_t size = 0;  // values of a head; 0: the heads are in order
  std::int64_t groups = 0;

  bool in_order() const noexcept { return size == 0; }
  // The place in the file of value i of n.
  std::int64_t place(std::int64_t i, std::int64_t n) const noexcept {
    if (in_order()) return i;
    const std::int64_t head = i / size, of_group = n / size / groups;
    return (head % of_group * groups + head / of_group) * size + i % size;
  }
};

// What the rows of a weight are: of what ranks have parts (shard.h).
enum class RowAxis {
  kWhole,  // of nothing that is split: every rank has all rows
  kQueryHeads,
  kKeyHeads,  // whole heads
  kHidden,    // values between the products of a feed-forward network
  kResidual,  // values that are added to the residual
  kVocabulary
};

// Whether a file has a bias beside a weight.
enum class BiasRule { kNone, kIfPresent, kRequired };

// One weight matrix of a block, the weights of a norm, or other numbers that the file has.
struct BlockWeight {
  std::string role;                 // name within a layer as in GGUF, whatever the file: "attn_q"
  std::string name;                 // pattern of the name in the file, without ".weight" unless whole_name
  std::int64_t rows = 0, cols = 0;  // cols 0: a vector [rows]
  RowSlice slice = {};              // where it is a part of a fused tensor
  // Where the file has the rows of a head as rotary pairs (2i, 2i + 1), which loading puts as halves: the rows of a
  // head, and how many of them are rotated, the first ones. 0: the rows are in order.
  std::int64_t rotated_head = 0, rotated = 0;
  HeadTurns row_turns = {}, column_turns = {};
  std::int64_t zero_rows = 0, zero_cols = 0;  // of zeros, which loading adds behind the file's
  std::int64_t head_rows = 0;                 // of a head's norm: values of one head
  RowAxis axis = RowAxis::kWhole;
  std::int64_t axis_rows = 1;   // of a head, of axes of heads
  std::int64_t axis_group = 1;  // query heads that share a key head, of kKeyHeads
  bool every_rank = false;      // each has all rows nevertheless
  bool whole_name = false;
  // The weight of so many experts: a tensor for each, whose number stands for `[]` in the name, or a stack [experts,
  // rows, cols] or, with inputs_first, [experts, cols, rows]. 0: it is one weight.
  std::int64_t experts = 0;
  bool inputs_first = false;
  bool exact = false;               // multiplied in f32, whatever the precision of others
  bool unit_rows = false;           // loading makes each row a unit vector
  float offset = 0.0f;              // of a norm: what is added to the stored weights
  BiasRule bias = BiasRule::kNone;  // a bias has the rows of its weight; kNone of a matrix: the rule of the spec
  std::string bias_name = {};       // the whole name of the bias; empty: `name` and ".bias"

  std::int64_t tensor_rows() const noexcept { return slice.whole() ? rows : slice.of; }
  std::string tensor() const { return whole_name ? name : name + ".weight"; }
  std::string bias_tensor() const { return bias_name.empty() ? name + ".bias" : bias_name; }
};
// The rule of every linear weight of the layers.
BiasRule bias_rule(const ModelSpec& spec) noexcept;
// The weights of a norm.
BlockWeight norm_weight(std::string role, const std::string& name, std::int64_t rows, const NormSpec& norm);
// The row of the tensor that is row i of the weight.
std::int64_t tensor_row(const BlockWeight& weight, std::int64_t i) noexcept;

// Whether the file has a tensor of that name, with ".weight" or without. Where a family has alternatives, such as Q, K
// and V apart or as one, the tensors that exist decide.
using HasTensor = std::function<bool(const std::string& pattern)>;

// A kind of block. Each is a file in blocks/. All functions but load() depend on the spec alone.
struct BlockKind {
  std::string_view name;
  // kUnsupported names a dimension that is wrong or beyond the limits of the device. Zeros in `limits` are no limits.
  Result<void> (*check)(const BlockSpec& block, const ModelSpec& spec, const backend::Limits& limits);
  // Text of everything that changes the bits of a row. No two kinds return the same.
  std::string (*key)(const BlockSpec& block);
  // What it stores for each token; nothing: no keys and values.
  std::optional<kv::KvNeed> (*kv)(const BlockSpec& block);
  BlockWorkspace (*workspace)(const BlockSpec& block, const ModelSpec& spec);
  BlockWork (*work)(const BlockSpec& block, const ModelSpec& spec);
  std::vector<BlockWeight> (*weights)(const BlockSpec& block, const ModelSpec& spec, const HasTensor& has);
  // Reads the weights. Throws LoadError naming tensor, expected and found shape.
  std::unique_ptr<Block> (*load)(const BlockSpec& block, BlockLoader& loader);
};
std::span<const BlockKind> all_block_kinds();  // generated by CMake

// The kind of the block, which must be in the table.
const BlockKind& kind_of(const BlockSpec& block);

// Every weight of a block, with the rules of biases: those of its kind, and the norms of its output.
std::vector<BlockWeight> block_weights(const BlockSpec& block, const ModelSpec& spec, const HasTensor& has);
// Every weight outside the layers.
std::vector<BlockWeight> outer_weights(const ModelSpec& spec);
// Text of everything of a block that changes the bits of a row.
std::string block_key(const BlockSpec& block);

// The needs of all blocks that keep keys and values, in order: one entry for each layer of the KvStore.
std::vector<kv::KvNeed> kv_needs(const ModelSpec& spec);

// Checks all blocks. kUnsupported names a dimension that no kernel handles.
Result<void> check_dimensions(const ModelSpec& spec, const backend::Limits& limits = {});

// The error for a dimension: "head_dim is 258: must be ...".
Error unsupported_dimension(std::string field, std::int64_t value, std::string_view rule);

}  // namespace millrace::model
