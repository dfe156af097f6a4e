#include "model/weights/weights_key.h"

#include <fmt/format.h>

#include <string>

#include "base/checksum.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {

namespace {

checkpoint::ContentKeys keys_with(const checkpoint::Checkpoint& checkpoint, const WeightReaderKind* reader) {
  checkpoint::ContentKeys keys = checkpoint::content_keys(checkpoint);
  if (reader == nullptr) return keys;
  const nlohmann::json& quantization = checkpoint.config.json.at(std::string(checkpoint::kQuantizationField));
  const std::string stated = quantization.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::uint64_t* key : {&keys.content, &keys.copies}) {
    *key = checksum(fmt::format("{} {} {}", reader->method, reader->version, stated), *key);
  }
  return keys;
}

}  // namespace

checkpoint::ContentKeys weights_keys(const checkpoint::Checkpoint& checkpoint) {
  return keys_with(checkpoint, find_reader(checkpoint));
}

std::uint64_t weights_key(const checkpoint::Checkpoint& checkpoint) { return weights_keys(checkpoint).content; }

std::uint64_t weights_key(const checkpoint::Checkpoint& checkpoint, const WeightReaderKind* reader) {
  return keys_with(checkpoint, reader).content;
}

}  // namespace millrace::model
