#include "server/hosted_model.h"

#include <chrono>

#include "model/adapters/adapter_store.h"

namespace millrace::server {

namespace {

std::vector<std::string> with_first(std::string first, std::vector<std::string> others) {
  others.insert(others.begin(), std::move(first));
  return others;
}

}  // namespace

Error unknown_model() {
  return {ErrorCode::kNotFound, "model", "this server has no model of that name: GET /v1/models lists them"};
}

std::int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<void> choose_formats(const std::string& tool_parser, const std::string& reasoning_parser, ModelParts& parts) {
  const std::string_view source = parts.chat == nullptr ? std::string_view() : parts.chat->source(true);
  parts.tool_parser = tool_parser;
  parts.reasoning_parser = reasoning_parser;
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
                   .breakers = std::make_shared<decode::BreakerCache>(parts.tokenizer)},
      path(parts.path),
      storage(std::move(parts.storage)),
      parameters(parts.parameters),
      weight_bytes(parts.weight_bytes),
      weight_bytes_per_step(parts.weight_bytes_per_step),
      trained_length(parts.trained_length),
      kv_bytes(static_cast<std::int64_t>(parts.engine->limits().kv_bytes)),
      drafting_bytes(parts.drafting_bytes),
      adapter_bytes(parts.adapter_bytes),
      kv_capacity(parts.engine->limits().kv_capacity_tokens),
      created(unix_time()),
      names(with_first(name, aliases)),
      adapters(parts.adapters),
      tool_parser_(parts.tool_parser),
      reasoning_parser_(parts.reasoning_parser),
      resources_(std::move(parts.resources)),
      engine(std::move(parts.engine)) {}

std::shared_ptr<ModelProfile> HostedModel::with_chat(std::shared_ptr<const chat::ChatFormat> other) const {
  ModelParts formats;
  formats.chat = std::move(other);
  choose_formats(tool_parser_, reasoning_parser_, formats).or_throw();
  return std::shared_ptr<ModelProfile>(new ModelProfile{.name = name,
                                                        .tokenizer = tokenizer,
                                                        .chat = formats.chat,
                                                        .tool_format = formats.tool_format,
                                                        .reasoning_format = formats.reasoning_format,
                                                        .generation = generation,
                                                        .peaks = peaks,
                                                        .max_length = max_length,
                                                        .vocab_size = vocab_size,
                                                        .hidden_size = hidden_size,
                                                        .breakers = breakers});
}

HostedModel::~HostedModel() {
  if (adapters != nullptr) adapters->stop();  // before what its thread works with goes
}

}  // namespace millrace::server
