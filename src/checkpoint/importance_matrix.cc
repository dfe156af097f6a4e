#include "checkpoint/importance_matrix.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "checkpoint/bounded_reader.h"
#include "checkpoint/gguf_reader.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
// Of an entry without a name and values: lengths of both, and how often it was called.
constexpr std::uint64_t kLeastEntryBytes = 3 * sizeof(std::int32_t);

void check_values(const std::string& path, std::string_view name, std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) && values[i] >= 0.0f) continue;
    throw_load_error(ErrorCode::kBadFile, std::string(name),
                     "{}: tensor {}: value {} is {}; a sum of squares or a count is a number from 0 on", path,
                     quote_name(name), i, values[i]);
  }
}

// Sums of squares become means: values are so many runs as there are counts, which are whole numbers.
void divide(std::span<float> values, std::span<const float> counts) {
  const std::size_t run = values.size() / counts.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float count = std::nearbyint(counts[i / run]);
    values[i] = count > 0.0f ? values[i] / count : 1.0f;
  }
}

std::vector<float> read_floats(const RandomAccessFile& file, const RawTensor& tensor) {
  if (tensor.format == nullptr || tensor.format->name != "f32") {
    throw_load_error(ErrorCode::kBadFile, tensor.name, "{}: tensor {} is stored as {}, expected f32", file.path(),
                     quote_name(tensor.name), tensor.format == nullptr ? "integers" : tensor.format->name);
  }
  std::vector<float> values(tensor.bytes / sizeof(float));
  file.read(tensor.offset, std::as_writable_bytes(std::span(values))).or_throw();
  check_values(file.path(), tensor.name, values);
  return values;
}

void add_gguf(const RandomAccessFile& file, ImportanceMatrix& out) {
  const GgufHeader header = read_gguf_header(file);
  if (const std::string type = header.metadata.text("general.type").value_or("model"); type != "imatrix") {
    throw_load_error(ErrorCode::kBadFile, "general.type",
                     "{}: general.type is {}, expected 'imatrix': this is not an importance matrix", file.path(),
                     quote_name(type));
  }
  std::map<std::string, std::pair<const RawTensor*, const RawTensor*>> pairs;  // sums and counts
  for (const RawTensor& tensor : header.tensors) {
    const std::string_view name = tensor.name;
    if (name.ends_with(kSums)) pairs[std::string(name.substr(0, name.size() - kSums.size()))].first = &tensor;
    if (name.ends_with(kCounts)) pairs[std::string(name.substr(0, name.size() - kCounts.size()))].second = &tensor;
  }
  for (const auto& [name, pair] : pairs) {
    if (pair.first == nullptr || pair.second == nullptr) {
      throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {} is missing", file.path(),
                       quote_name(name + std::string(pair.first == nullptr ? kSums : kCounts)));
    }
    std::vector<float> values = read_floats(file, *pair.first);
    const std::vector<float> counts = read_floats(file, *pair.second);
    if (counts.empty() || values.empty() || values.size() % counts.size() != 0) {
      throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {} has {} sums and {} counts, expected a multiple",
                       file.path(), quote_name(name), values.size(), counts.size());
    }
    divide(values, counts);
    out.means[name] = std::move(values);
  }
}

// The number of things that follow. Nothing is allocated for one that the file cannot hold.
std::uint64_t read_count(BoundedReader& in, std::string_view field, std::int32_t least) {
  const auto count = in.number<std::int32_t>(field);
  if (count >= least) return static_cast<std::uint64_t>(count);
  throw_load_error(ErrorCode::kBadFile, std::string(field), "{}: {} is {}, expected at least {}", in.path(), field,
                   count, least);
}

// Entries of a name, the number of calls, and for each column the mean square times that number; what follows them,
// the name of a text, is of no use here.
void add_older(const RandomAccessFile& file, ImportanceMatrix& out) {
  BoundedReader in(file, file.size());
  const std::uint64_t entries = read_count(in, "the number of entries", 1);
  in.require(entries, kLeastEntryBytes, "entries");
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t length = read_count(in, "the length of a name", 1);
    in.require(length, 1, "a name");
    std::string name(length, '\0');
    in.read(std::as_writable_bytes(std::span(name)), "a name");
    const auto calls = static_cast<float>(read_count(in, "the number of calls", 0));
    const std::uint64_t columns = read_count(in, "the number of values", 1);
    in.require(columns, sizeof(float), "values");
    std::vector<float> values(columns);
    in.read(std::as_writable_bytes(std::span(values)), "values");
    check_values(file.path(), name, values);
    divide(values, {&calls, 1});
    if (!out.means.emplace(name, std::move(values)).second) {
      throw_load_error(ErrorCode::kBadFile, name, "{}: tensor {} is there twice", file.path(), quote_name(name));
    }
  }
}

}  // namespace

Result<ImportanceMatrix> read_importance_matrix(Env& env, const std::string& path) {
  auto file = env.open(path);
  if (!file) return file.error();
  ImportanceMatrix out{.path = path, .means = {}};
  try {
    std::string magic(kGgufMagic.size(), '\0');
    if ((*file)->size() >= magic.size()) (*file)->read(0, std::as_writable_bytes(std::span(magic))).or_throw();
    magic == kGgufMagic ? add_gguf(**file, out) : add_older(**file, out);
  } catch (const LoadError& e) {
    return e.error();
  }
  if (!out.means.empty()) return out;
  return make_error(ErrorCode::kBadFile, "imatrix", "{}: an importance matrix without entries", path);
}

}  // namespace millrace::checkpoint
