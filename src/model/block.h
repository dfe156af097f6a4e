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
#include "model/model_spec.h"

namespace millrace::model {

class BlockLoader;

// Rows of f32 to be handed out, each part beginning on a cache line where the memory does.
class RowSpace {
 public:
  RowSpace() = default;
  RowSpace(backend::DeviceAddress memory, std::int64_t rows) : at_(memory), rows_(rows) {}
  backend::DeviceView take(std::int64_t columns) noexcept {  // [rows, columns]
    backend::DeviceView view(at_, DType::kF32, {rows_, columns});
    at_ = at_ + static_cast<std::size_t>(rows_ * padded(columns)) * sizeof(float);
    return view;
  }
  // Columns that a part takes.
  static constexpr std::int64_t padded(std::int64_t columns) noexcept { return (columns + 15) / 16 * 16; }

 private:
  backend::DeviceAddress at_;
  std::int64_t rows_ = 0;
};

// What a block works on in a step of T rows, f32.
struct BlockRows {
  backend::DeviceView residual;  // [T, E]: what goes in and comes out
  backend::DeviceView input;     // [T, I]: for blocks that look at something else than the residual
  backend::DeviceView cos_sin;   // [T, rotated]; without data nothing is rotated
  std::span<const backend::SequenceRows> sequences;
  RowSpace space;  // for what the block asked for as its workspace; nothing in it outlives the block's run
};

// A block with its weights. Const after load.
class Block {
 public:
  virtual ~Block() = default;
  // Adds to the residual. `pages` are of the layer of the store that is this block's, if it keeps keys and values.
  virtual void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages& pages) const = 0;
  // Every weight that is multiplied with.
  virtual std::vector<backend::Linear*> linears() const = 0;
  // Bytes of weights read for a token: all, unless the block chooses among them.
  virtual std::size_t weight_bytes_per_token() const noexcept;
};

// What computing one token takes; a multiply and an add are two operations. Norms, rotations and activations are below
// a hundredth and left out. Of keys and values, see kv::KvNeed.
struct BlockWork {
  double operations = 0.0;          // whatever came before the token
  double operations_per_key = 0.0;  // for each token within the window
};

// What a block holds of a step.
struct BlockWorkspace {
  std::vector<std::int64_t> columns;  // of f32, in the order in which run() takes them
  std::int64_t ffn = 0;               // F, see Backend::workspace_bytes
};

// One matrix that a block multiplies with, or the weights of a norm. Biases are not listed.
struct BlockWeight {
  std::string role;                 // as GGUF calls it within a layer, whatever the file does: "attn_q"
  std::string name;                 // pattern of the file's name, without ".weight"
  std::int64_t rows = 0, cols = 0;  // cols 0: a vector [rows]
  std::int64_t rotated_head = 0;    // head_dim where files may keep the rows as rotary pairs (ModelSpec), else 0
  bool to_residual = false;         // its products are added to the residual
};
// Whether a file has a tensor of that name: of alternatives, such as Q, K and V apart or as one, those there are count.
using HasTensor = std::function<bool(const std::string& pattern)>;

// A kind of block: one file each in blocks/, collected by CMake. All functions but the load are of the spec alone.
struct BlockKind {
  std::string_view name;
  // kUnsupported naming a dimension that is wrong, or beyond the limits of the device; zeros there are no limits.
  Result<void> (*check)(const BlockSpec& block, const ModelSpec& spec, const backend::Limits& limits);
  // Whatever changes the bits of a row, as text; no two kinds make the same.
  std::string (*key)(const BlockSpec& block);
  std::optional<kv::KvNeed> (*kv)(const BlockSpec& block);  // what it keeps of each token, if anything
  BlockWorkspace (*workspace)(const BlockSpec& block);
  BlockWork (*work)(const BlockSpec& block, const ModelSpec& spec);
  std::vector<BlockWeight> (*weights)(const BlockSpec& block, const ModelSpec& spec, const HasTensor& has);
  // Throws LoadError naming tensor, expected and found.
  std::unique_ptr<Block> (*load)(const BlockSpec& block, BlockLoader& loader);
};
std::span<const BlockKind> all_block_kinds();  // generated

// The kind is in the table.
const BlockKind& kind_of(const BlockSpec& block);

// What the blocks of a model keep, layer by layer, one entry a layer of the KvStore.
std::vector<kv::KvNeed> kv_needs(const ModelSpec& spec);

// kUnsupported naming a dimension that no kernel handles.
Result<void> check_dimensions(const ModelSpec& spec, const backend::Limits& limits = {});

// An error of check(): "head_dim is 258: must be ...".
Error unsupported_dimension(std::string field, std::int64_t value, std::string_view rule);

}  // namespace millrace::model
