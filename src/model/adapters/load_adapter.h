#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/adapter.h"
#include "model/transformer.h"

namespace millrace::model {

// How adapters are kept in memory.
enum class AdapterType {
  kAuto,  // kF32 where the model is multiplied in f32, else kBf16
  kF32,   // as f32, unless the file has bf16
  kBf16,
  kInt8,  // A with an f16 scale for each 32 values of a row (q8_0); B, and A with rows of other lengths, as bf16
};

struct AdapterOptions {
  AdapterType type = AdapterType::kAuto;
  std::int64_t max_rank = 512;
};

// Reads an adapter's files and packs it for a model. On any thread, also while the model runs. Either everything in the
// files is understood and fits the model, or it throws LoadError naming file, field or tensor, the expected and the
// found value.
class AdapterLoader {
 public:
  // All must outlive the loader; `checkpoint` is the model's.
  AdapterLoader(const checkpoint::Checkpoint& checkpoint, const Transformer& model, backend::Backend& backend)
      : checkpoint_(checkpoint), model_(model), backend_(backend) {}

  std::shared_ptr<const Adapter> load(Env& env, const std::string& directory, const AdapterOptions& options) const;

 private:
  const checkpoint::Checkpoint& checkpoint_;
  const Transformer& model_;
  backend::Backend& backend_;
};

}  // namespace millrace::model
