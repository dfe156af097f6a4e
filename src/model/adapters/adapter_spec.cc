#include "model/adapters/adapter_spec.h"

#include <algorithm>
#include <set>

#include "checkpoint/quote_name.h"
#include "model/block.h"
#include "model/make_spec.h"
#include "model/model_family.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

void check_architecture(const checkpoint::Checkpoint& model, const AdapterFiles& files) {
  constexpr const char* kField = "general.architecture";
  const std::string& theirs = files.gguf_architecture;
  if (model.config.gguf && model.config.architecture == theirs) return;
  const ModelFamily* family = find_family(model.config);
  const auto& names = family->gguf;
  if (!model.config.gguf && std::ranges::find(names, theirs) != names.end()) return;
  throw_load_error(ErrorCode::kBadFile, kField, "{}: {} is {}: the model is of {}", files.path, kField,
                   checkpoint::quote_name(theirs), model.config.architecture);
}

}  // namespace

ModelSpec adapter_spec(const checkpoint::Checkpoint& model, const AdapterFiles& files) {
  const bool gguf = !files.gguf_architecture.empty();
  if (gguf) check_architecture(model, files);
  return make_module_spec(model, gguf);
}

std::vector<std::string> adapter_modules(const checkpoint::Checkpoint& model) {
  const ModelSpec spec = make_module_spec(model);
  std::set<std::string> modules = {spec.names.embedding, spec.names.head};
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    for (const BlockSpec& block : spec.layers[layer].blocks) {
      for (const bool fused : {false, true}) {  // where there are alternatives, both
        for (const BlockWeight& weight : block_weights(block, spec, [=](const std::string&) { return fused; })) {
          if (weight.cols == 0 || weight.experts > 0) continue;
          modules.insert(WeightLoader::layer_name(weight.name, static_cast<std::int64_t>(layer)));
        }
      }
    }
  }
  return {modules.begin(), modules.end()};
}

}  // namespace millrace::model
