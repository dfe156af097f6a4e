#include "draft/speculators/speculator_files.h"

#include <cstring>

#include "checkpoint/weight_files.h"

namespace millrace::draft {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 4 << 20;

std::int64_t number_at(const std::byte* at, std::int64_t bytes) {
  if (bytes == 1) return std::to_integer<std::int64_t>(*at);
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  if (bytes == 8) std::memcpy(&wide, at, sizeof wide);
  if (bytes == 4) std::memcpy(&narrow, at, sizeof narrow);
  return bytes == 8 ? wide : narrow;
}

}  // namespace

std::string SpeculatorFiles::first_of(std::initializer_list<std::string> names, const std::string& rest) const {
  for (const std::string& name : names) {
    if (has(name + rest)) return name;
  }
  return *names.begin();
}

std::size_t SpeculatorFiles::packed_bytes(const DraftPlace& place) const {
  std::size_t bytes = 0;
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) {
    if (tensor.shape.rank() != 2) continue;
    bytes += place.backend->packed_bytes(*tensor.format, tensor.shape[0], tensor.shape[1], place.precision);
  }
  return bytes;
}

std::vector<std::int64_t> SpeculatorFiles::integers_of(const std::string& name, std::int64_t n) const {
  for (const checkpoint::IntegerTensor& one : integers) {
    if (one.tensor.name != name) continue;
    if (one.tensor.shape != Shape{n}) {
      throw_load_error(ErrorCode::kBadFile, name, "{}: tensor '{}' has shape {}; expected {}", checkpoint.path, name,
                       one.tensor.shape.to_string(), Shape{n}.to_string());
    }
    std::vector<std::byte> raw(one.tensor.bytes);
    checkpoint.read(one.tensor, 0, raw).or_throw();
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < n; ++i)
      numbers.push_back(number_at(raw.data() + i * one.value_bytes, one.value_bytes));
    return numbers;
  }
  return {};
}

SpeculatorFiles open_head_files(Env& env, const std::string& directory, std::string_view own_stem) {
  SpeculatorFiles files;
  files.checkpoint.path = directory;
  files.config_file = directory + "/config.json";
  const auto text = checkpoint::read_optional_file(env, files.config_file, kMaxConfigBytes);
  if (!text) {
    throw_load_error(ErrorCode::kNotFound, "spec-model",
                     "{}: No such file: --spec-model expects a directory with config.json and weights",
                     files.config_file);
  }
  files.config_text = *text;
  files.config = checkpoint::parse_json_object(files.config_file, files.config_text);
  checkpoint::open_weights(env, directory, files.checkpoint, &files.integers, own_stem);
  return files;
}

Result<std::size_t> head_weight_bytes(const DrafterOptions& options, std::string_view own_stem) try {
  if (options.heads.empty()) return std::size_t{0};
  return open_head_files(Env::system(), options.heads, own_stem).packed_bytes(options.place);
} catch (const LoadError& failure) {
  return failure.error();
}

}  // namespace millrace::draft
