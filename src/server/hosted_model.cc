#include "server/hosted_model.h"

#include <chrono>

namespace millrace::server {

namespace {

std::vector<std::string> with_first(std::string first, std::vector<std::string> others) {
  others.insert(others.begin(), std::move(first));
  return others;
}

}  // namespace

std::int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<void> choose_formats(const std::string& tool_parser, const std::string& reasoning_parser, ModelParts& parts) {
  const std::string_view source = parts.chat == nullptr ? std::string_view() : parts.chat->source(true);
  parts.tool_format = nullptr;
  parts.reasoning_format = nullptr;
  if (tool_parser == "auto") {
    parts.tool_format = chat::tools::recognise_tool_format(source);
    // Where no format is known, tools are spelled out in the conversation.
    if (parts.tool_format == nullptr)
      parts.tool_format = chat::tools::find_tool_format(chat::tools::kGenericFormat).or_throw();
  } else if (tool_parser != "none") {
    auto found = chat::tools::find_tool_format(tool_parser);
    if (!found) return found.error();
    parts.tool_format = *found;
  }
  if (reasoning_parser == "auto") {
    parts.reasoning_format = chat::reasoning::recognise_reasoning_format(source);
  } else if (reasoning_parser != "none") {
    auto found = chat::reasoning::find_reasoning_format(reasoning_parser);
    if (!found) return found.error();
    parts.reasoning_format = *found;
  }
  return {};
}

HostedModel::HostedModel(std::string model_name, ModelParts parts, const std::vector<std::string>& aliases)
    : ModelProfile{.name = std::move(model_name),
                   .tokenizer = parts.tokenizer,
                   .chat = parts.chat,
                   .tool_format = parts.tool_format,
                   .reasoning_format = parts.reasoning_format,
                   .generation = parts.generation,
                   .peaks = parts.peaks != nullptr ? parts.peaks
                                                   : std::make_shared<engine::LivePeaks>(engine::MachinePeaks{}),
                   .max_length = parts.engine->limits().max_length,
                   .vocab_size = parts.engine->limits().vocab_size,
                   .hidden_size = parts.hidden_size,
                   .breakers = decode::BreakerCache(parts.tokenizer)},
      path(parts.path),
      storage(std::move(parts.storage)),
      parameters(parts.parameters),
      weight_bytes(parts.weight_bytes),
      weight_bytes_per_step(parts.weight_bytes_per_step),
      trained_length(parts.trained_length),
      kv_bytes(static_cast<std::int64_t>(parts.engine->limits().kv_bytes)),
      drafting_bytes(parts.drafting_bytes),
      kv_capacity(parts.engine->limits().kv_capacity_tokens),
      created(unix_time()),
      names(with_first(name, aliases)),
      adapters(parts.adapters),
      resources_(std::move(parts.resources)),
      engine(std::move(parts.engine)) {}

}  // namespace millrace::server
