#pragma once

#include <memory>
#include <string>
#include <utility>

#include "backend/shape_backend.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/load_adapter.h"
#include "model/make_spec.h"
#include "model/transformer.h"

namespace millrace::model {

// A base without its matrices: what adapters of it are read against where nothing is computed. Adapters that load here
// are those that load for the model itself, and the other way round.
class BaseShapes {
 public:
  // `base` must outlive it. `backend` is of the kind whose sizes adapters have (Adapter::bytes). Reads the vectors of
  // the base. Throws LoadError.
  BaseShapes(const checkpoint::Checkpoint& base, std::unique_ptr<backend::Backend> backend,
             backend::MatmulPrecision precision = backend::MatmulPrecision::kAuto)
      : base_(base),
        backend_(std::move(backend)),
        model_(base, make_spec(base).or_throw(), backend_, {.precision = precision}) {}

  // An adapter whose weights are HeldLowRanks. Errors of AdapterLoader::load().
  std::shared_ptr<const Adapter> load(Env& env, const std::string& path, const AdapterOptions& options) {
    return AdapterLoader(base_, model_, backend_).load(env, path, options);
  }
  // The same in two steps.
  AdapterFiles open(Env& env, const std::string& path) {
    return AdapterLoader(base_, model_, backend_).open(env, path);
  }
  std::shared_ptr<const Adapter> load(const AdapterFiles& files, const AdapterOptions& options) {
    return AdapterLoader(base_, model_, backend_).load(files, options);
  }
  const Transformer& model() const noexcept { return model_; }

 private:
  const checkpoint::Checkpoint& base_;
  backend::ShapeBackend backend_;
  Transformer model_;
};

}  // namespace millrace::model
