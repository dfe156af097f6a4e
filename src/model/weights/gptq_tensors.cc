#include "model/weights/gptq_tensors.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

constexpr int kBits[] = {2, 3, 4, 8};

constexpr std::int64_t words_of(std::int64_t codes, int bits) noexcept {
  return (codes * bits + kGptqWordBits - 1) / kGptqWordBits;
}

// Field `index` of a stream of fields of `bits` each.
std::uint32_t field(const std::uint32_t* words, std::int64_t index, int bits) noexcept {
  const std::int64_t at = index * bits / kGptqWordBits, shift = index * bits % kGptqWordBits;
  std::uint64_t two = words[at];
  if (shift + bits > kGptqWordBits) two |= static_cast<std::uint64_t>(words[at + 1]) << kGptqWordBits;
  return static_cast<std::uint32_t>(two >> shift) & ((1u << bits) - 1u);
}

// A word of 2, 4 or 8 bits a field with one in each.
constexpr std::uint32_t ones(int bits) noexcept { return UINT32_MAX / ((1u << bits) - 1u); }

}  // namespace

GptqTensors::GptqTensors(const Checkpoint& from, std::string name, std::int64_t n_rows, std::int64_t n_cols)
    : checkpoint(from), stem(std::move(name)), rows(n_rows), cols(n_cols) {
  const std::string codes_name = stem + ".qweight";
  const RawTensor& stored = *checkpoint.find_integers(codes_name);
  for (const int some : kBits) {
    if (stored.shape == Shape{words_of(cols, some), rows}) bits = some;
  }
  if (cols % kGptqWordBits != 0) {
    throw_load_error(ErrorCode::kUnsupported, codes_name, "{}: tensor '{}': {} columns; only multiples of {} are read",
                     checkpoint.path, codes_name, cols, kGptqWordBits);
  }
  if (bits == 0) {
    fail(codes_name, fmt::format("shape {}: expected [{} times the bits of a code, {}] for a matrix [{}, {}] of 2, 3, "
                                 "4 or 8 bits",
                                 stored.shape.to_string(), cols / kGptqWordBits, rows, rows, cols));
  }
  codes = &words(codes_name, stored.shape);
  scales = checkpoint.find(stem + ".scales");
  if (scales == nullptr || scales->shape.rank() != 2 || scales->shape[0] < 1 || scales->shape[1] != rows) {
    fail(stem + ".scales", fmt::format("expected a tensor [groups, {}]", rows));
  }
  groups = scales->shape[0];
  zeros = &words(stem + ".qzeros", Shape{groups, words_of(rows, bits)});
  const std::string order = stem + ".g_idx";
  if (checkpoint.find_integers(order) != nullptr) group_of = &words(order, Shape{cols});
}

void GptqTensors::fail(const std::string& tensor, const std::string& what) const {
  throw_load_error(ErrorCode::kBadFile, tensor, "{}: tensor '{}': {}", checkpoint.path, tensor, what);
}

const RawTensor& GptqTensors::words(const std::string& name, const Shape& shape) const {
  const RawTensor* tensor = checkpoint.find_integers(name);
  if (tensor == nullptr) fail(name, "missing; expected int32 " + shape.to_string());
  if (tensor->shape != shape || tensor->bytes != static_cast<std::uint64_t>(shape.elements()) * 4) {
    fail(name,
         fmt::format("{} of {} bytes; expected int32 {}", tensor->shape.to_string(), tensor->bytes, shape.to_string()));
  }
  return *tensor;
}

std::vector<const RawTensor*> GptqTensors::all() const {
  std::vector<const RawTensor*> tensors = {codes, zeros, scales};
  if (group_of != nullptr) tensors.push_back(group_of);
  return tensors;
}

std::vector<std::uint32_t> GptqTensors::read_words(const RawTensor& tensor) const {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(tensor.bytes / 4));
  checkpoint.read(tensor, 0, std::as_writable_bytes(std::span(words))).or_throw();
  return words;
}

std::int64_t gptq_columns(const Checkpoint& checkpoint, const std::string& stem, const GptqRules& rules) {
  if (const RawTensor* order = checkpoint.find_integers(stem + ".g_idx")) return order->shape.elements();
  const Shape& codes = checkpoint.find_integers(stem + ".qweight")->shape;
  const RawTensor* zeros = checkpoint.find_integers(stem + ".qzeros");
  const auto fits = [&](int bits) {
    return zeros != nullptr && zeros->shape.rank() == 2 && zeros->shape[1] == words_of(codes[1], bits);
  };
  auto bits = static_cast<int>(rules.bits);
  if (!fits(bits)) {
    const auto* other = std::ranges::find_if(kBits, fits);
    if (other != std::end(kBits)) bits = *other;
  }
  return codes[0] * kGptqWordBits / bits;
}

// Where they are less one, the tool that wrote them took one from each field of a whole word, so that a field of 0
// borrowed from the next one; adding it again to the word gives back what there was. Fields of 3 bits cross words and
// were counted down each by itself.
GptqZeroPoints read_zero_points(const GptqTensors& tensors, const GptqRules& rules) {
  std::vector<std::uint32_t> stored = tensors.read_words(*tensors.zeros);
  const int bits = tensors.bits, middle = 1 << (bits - 1), top = (1 << bits) - 1;
  const std::int64_t line = words_of(tensors.rows, bits);
  const auto all_are = [&](int value) {
    for (std::int64_t g = 0; g < tensors.groups; ++g) {
      for (std::int64_t r = 0; r < tensors.rows; ++r) {
        if (static_cast<int>(field(stored.data() + g * line, r, bits)) != value) return false;
      }
    }
    return true;
  };
  GptqZeroPoints zeros;
  if (all_are(rules.zeros_less_one ? middle - 1 : middle)) return zeros;
  zeros.contradict = rules.zeros_less_one && rules.symmetric && all_are(middle);
  if (zeros.contradict) return zeros;
  const bool by_word = rules.zeros_less_one && bits != 3;
  const int added = rules.zeros_less_one && bits == 3 ? 1 : 0;
  if (by_word) std::ranges::for_each(stored, [&](std::uint32_t& word) { word += ones(bits); });
  for (std::int64_t g = 0; g < tensors.groups; ++g) {
    for (std::int64_t r = 0; r < tensors.rows; ++r) {
      const int value = static_cast<int>(field(stored.data() + g * line, r, bits));
      zeros.beside_middle.push_back(static_cast<std::int8_t>(((value + added) & top) - middle));
    }
  }
  return zeros;
}

std::vector<std::uint32_t> read_groups(const GptqTensors& tensors, const GptqRules& rules) {
  const std::int64_t cols = tensors.cols, groups = tensors.groups;
  const std::string name = tensors.stem + ".g_idx";
  std::vector<std::uint32_t> group(static_cast<std::size_t>(cols));
  if (groups == 1) return group;
  if (tensors.group_of != nullptr) {
    group = tensors.read_words(*tensors.group_of);
    for (const std::uint32_t g : group) {
      if (g >= static_cast<std::uint64_t>(groups)) {
        tensors.fail(name, fmt::format("group {} of {} does not exist", g, groups));
      }
    }
    return group;
  }
  std::int64_t size = cols % groups == 0 ? cols / groups : 0;
  if (rules.group_size > 0 && (cols + rules.group_size - 1) / rules.group_size == groups) size = rules.group_size;
  if (rules.ordered || size == 0) tensors.fail(name, "missing: the order of the columns is not known");
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i] = static_cast<std::uint32_t>(static_cast<std::int64_t>(i) / size);
  }
  return group;
}

const quant::QuantFormat* gptq_format(const GptqTensors& tensors, const GptqZeroPoints& zeros,
                                      const std::vector<std::uint32_t>& groups) {
  std::vector<std::int64_t> members(static_cast<std::size_t>(tensors.groups));
  for (const std::uint32_t g : groups) ++members[g];
  bool large = true;
  for (std::size_t g = 0; g < members.size(); ++g) {
    large = large && members[g] % 128 == 0;
    if (members[g] % 32 == 0) continue;
    const std::string name = tensors.stem + ".g_idx";
    throw_load_error(ErrorCode::kUnsupported, name,
                     "{}: tensor '{}': group {} has {} columns; only multiples of 32 are supported",
                     tensors.checkpoint.path, name, g, members[g]);
  }
  const std::string_view bits = tensors.bits <= 4 ? "q4_" : "q8_";
  const bool symmetric = zeros.beside_middle.empty();
  const std::string_view kind = large ? (symmetric ? "g128" : "z128") : (symmetric ? "0" : "z");
  return quant::find_format(std::string(bits).append(kind));
}

}  // namespace millrace::model
