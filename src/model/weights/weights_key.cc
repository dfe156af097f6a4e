#include "model/weights/weights_key.h"

#include <fmt/format.h>

#include <string>

#include "base/checksum.h"
#include "checkpoint/content_key.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {

std::uint64_t weights_key(const checkpoint::Checkpoint& checkpoint) {
  return weights_key(checkpoint, find_reader(checkpoint));
}

std::uint64_t weights_key(const checkpoint::Checkpoint& checkpoint, const WeightReaderKind* reader) {
  const std::uint64_t content = checkpoint::content_key(checkpoint);
  if (reader == nullptr) return content;
  const nlohmann::json& quantization = checkpoint.config.json.at(std::string(checkpoint::kQuantizationField));
  const std::string stated = quantization.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return checksum(fmt::format("{} {} {}", reader->method, reader->version, stated), content);
}

}  // namespace millrace::model
