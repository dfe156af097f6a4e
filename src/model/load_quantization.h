#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/operations.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "model/block.h"
#include "model/weight_importance.h"
#include "quant/format.h"

namespace millrace::model {

// The formats that loading gives weights which the checkpoint has in f32, f16, bf16 or FP8. Others stay as they are.
struct LoadQuantization {
  std::string name;                             // as asked for: "q4_k"; empty: all weights stay
  const quant::QuantFormat* linears = nullptr;  // null: they stay
  const quant::QuantFormat* outer = nullptr;    // of the embedding and the head, tied or not
  // What errors of the blocks' weights count; null: nothing is known of the inputs.
  std::shared_ptr<const checkpoint::ImportanceMatrix> importance = nullptr;

  // The format for a weight of a block that is stored as `stored`: another one where its columns are no whole blocks of
  // `linears`, as llama.cpp chooses, and `stored` where none fits or the weight has to stay exact.
  const quant::QuantFormat* of_weight(const BlockWeight& weight, const quant::QuantFormat* stored) const;
  const quant::QuantFormat* of_outer(std::int64_t cols, const quant::QuantFormat* stored) const;
  // The key of what loading makes of the weights of the checkpoint with key `checkpoint`, which it is if all stay.
  std::uint64_t key(std::uint64_t checkpoint) const;
};

// The names of formats for loading: "q8_0", ...
std::vector<std::string_view> load_quantizations();
// Whether the name is one of load_quantizations(), empty, or a method of checkpoints: "awq", "gptq", ...
bool is_quantization(std::string_view name);
// What `name` means for the checkpoint: a method is what the checkpoint has to be, and changes nothing.
// kInvalidArgument naming quantization, and what the checkpoint is, if it is something else, or holds no weight that
// loading may change.
Result<LoadQuantization> choose_load_quantization(const std::string& name, const checkpoint::Checkpoint& checkpoint);

// The matrix in another format: rows are rounded as they are read, with searched scales (quant/searched_rounding.h).
backend::WeightSource quantized_source(backend::WeightSource source, const quant::QuantFormat* target,
                                       ColumnImportance importance = nullptr);

}  // namespace millrace::model
