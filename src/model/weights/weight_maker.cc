#include "model/weights/weight_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <type_traits>
#include <variant>

#include "checkpoint/json_fields.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using Json = nlohmann::json;

constexpr std::size_t kMaxBytes = 200;  // of a text that a file has

std::string shortened(const std::string& text) {
  std::size_t end = std::min(text.size(), kMaxBytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// A text as the file has it. What has another type says nothing.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? shortened(found->get<std::string>()) : std::string();
}

std::string text_at(const checkpoint::GgufMetadata& metadata, const std::string& key) {
  const checkpoint::GgufValue* value = metadata.find(key);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : shortened(*text);
}

std::string number_at(const checkpoint::GgufMetadata& metadata, const std::string& key) {
  const checkpoint::GgufValue* value = metadata.find(key);
  if (value == nullptr) return {};
  return std::visit(
      [](const auto& number) {
        using Number = std::decay_t<decltype(number)>;
        if constexpr (std::is_integral_v<Number> && !std::is_same_v<Number, bool>) return fmt::format("{}", number);
        return std::string();
      },
      *value);
}

std::string named(const std::string& name, const std::string& version) {
  return version.empty() || name.empty() ? name : name + " " + version;
}

// GPTQModel and AutoGPTQ: meta.quantizer is "name:version", or a list that begins with one.
std::string maker_in_meta(const Json& quantization) {
  const auto meta = quantization.find("meta");
  if (meta == quantization.end() || !meta->is_object()) return {};
  const auto quantizer = meta->find("quantizer");
  if (quantizer == meta->end()) return {};
  const Json& first = quantizer->is_array() && !quantizer->empty() ? quantizer->front() : *quantizer;
  if (!first.is_string()) return {};
  std::string text = shortened(first.get<std::string>());
  if (const std::size_t colon = text.find(':'); colon != std::string::npos) text[colon] = ' ';
  return text;
}

std::string maker_in_config(const Json& quantization) {
  if (const auto producer = quantization.find("producer"); producer != quantization.end() && producer->is_object()) {
    return named(text_at(*producer, "name"), text_at(*producer, "version"));
  }
  if (std::string maker = maker_in_meta(quantization); !maker.empty()) return maker;
  if (const std::string version = text_at(quantization, "autoround_version"); !version.empty()) {
    return named("auto-round", version);
  }
  // Other methods have names of layouts there.
  const std::string method = text_at(quantization, "quant_method"), version = text_at(quantization, "version");
  const bool number = !version.empty() && std::isdigit(static_cast<unsigned char>(version.front())) != 0;
  return number ? named(method, version) : std::string();
}

}  // namespace

std::string weight_maker(const Checkpoint& checkpoint) {
  if (checkpoint.config.gguf) return text_at(checkpoint.config.metadata, "general.quantized_by");
  const auto found = checkpoint.config.json.find(std::string(checkpoint::kQuantizationField));
  const bool there = found != checkpoint.config.json.end() && found->is_object();
  return there ? maker_in_config(*found) : std::string();
}

std::string weight_calibration(const Checkpoint& checkpoint) {
  if (!checkpoint.config.gguf) return {};
  const checkpoint::GgufMetadata& metadata = checkpoint.config.metadata;
  std::string from = text_at(metadata, "quantize.imatrix.dataset");
  if (from.empty()) from = text_at(metadata, "quantize.imatrix.file");
  if (from.empty()) return {};
  const std::string chunks = number_at(metadata, "quantize.imatrix.chunks_count");
  return fmt::format("importance matrix of {}{}", chunks.empty() ? "" : chunks + " chunks of ", from);
}

}  // namespace millrace::model
