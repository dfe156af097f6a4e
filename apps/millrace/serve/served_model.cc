#include "serve/served_model.h"

#include <algorithm>

#include "chat/conversation.h"

namespace millrace::app {
namespace {

constexpr std::int64_t kKvBytes = std::int64_t{1} << 30;  // of cached keys and values, unless told otherwise

struct Foundation {
  LoadedModel loaded;
  std::unique_ptr<kv::PageArchive> archive;
};

std::int64_t parameters_of(const checkpoint::Checkpoint& checkpoint) {
  std::int64_t sum = 0;
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) sum += tensor.shape.elements();
  return sum;
}

server::ModelParts load(const ModelFlags& flags, const EngineFlags& engine_flags) {
  auto foundation = std::make_shared<Foundation>();
  foundation->loaded = load_model(flags);
  LoadedModel& loaded = foundation->loaded;
  if (loaded.checkpoint->tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", loaded.checkpoint->path);
  }
  const auto layers = static_cast<std::int64_t>(loaded.transformer->spec().layers.size());
  const auto geometry = loaded.transformer->kv_geometry(flags.kv_pages());
  const std::int64_t token_bytes =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(geometry.page_bytes()) * layers / geometry.block_tokens);
  ServingEngine made = make_engine(loaded, loaded.checkpoint->tokenizer, flags, engine_flags, kKvBytes / token_bytes);
  made.engine->warm_up().or_throw();
  foundation->archive = std::move(made.archive);
  server::ModelParts parts;
  parts.engine = std::move(made.engine);
  parts.tokenizer = loaded.checkpoint->tokenizer;
  parts.chat = load_chat_format(*loaded.checkpoint);
  parts.generation = loaded.checkpoint->generation;
  parts.path = loaded.checkpoint->path;
  parts.parameters = parameters_of(*loaded.checkpoint);
  parts.weight_bytes = static_cast<std::int64_t>(loaded.transformer->weight_bytes());
  parts.weight_bytes_per_step = static_cast<std::int64_t>(loaded.transformer->weight_bytes_per_token());
  parts.trained_length = loaded.checkpoint->config.context_length;
  parts.hidden_size = loaded.checkpoint->config.hidden_size;
  parts.foundation = std::move(foundation);
  return parts;
}

}  // namespace

server::ModelEntry served_model(std::string name, std::vector<std::string> aliases, const ModelFlags& model,
                                const EngineFlags& engine) {
  return {.name = std::move(name),
          .aliases = std::move(aliases),
          .load = [model, engine](const std::function<void(double)>&) { return load(model, engine); }};
}

}  // namespace millrace::app
