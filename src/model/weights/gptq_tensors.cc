#include "model/weights/gptq_tensors.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "model/weights/group_weight.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr std::int64_t kGptqWord = 32;
constexpr int kBits[] = {2, 3, 4, 8};

constexpr std::int64_t words_of(std::int64_t codes, int bits) noexcept {
  return (codes * bits + kGptqWord - 1) / kGptqWord;
}

// A word of 2, 4 or 8 bits a field with one in each.
constexpr std::uint32_t ones(int bits) noexcept { return UINT32_MAX / ((1u << bits) - 1u); }

// As many as g_idx has; else they follow from the bits.
std::int64_t columns_of(const StoredTensors& stored, const std::string& module, const Shape& codes, int bits) {
  const RawTensor* order = stored.find(module + ".g_idx");
  return order != nullptr ? order->shape.elements() : codes[0] * kGptqWord / bits;
}

// The rules' bits if qweight and qzeros, if there are any, fit them, else others that they fit; 0 if none do.
int bits_of(const StoredTensors& stored, const std::string& module, const Shape& codes, const GptqRules& rules) {
  const RawTensor* zeros = stored.find(module + ".qzeros");
  const auto fits = [&](std::int64_t wanted) {
    const int bits = std::ranges::find(kBits, wanted) == std::end(kBits) ? 0 : static_cast<int>(wanted);
    if (bits == 0) return false;
    if (zeros != nullptr && (zeros->shape.rank() != 2 || zeros->shape[1] != words_of(codes[1], bits))) return false;
    return codes[0] == words_of(columns_of(stored, module, codes, bits), bits);
  };
  if (fits(rules.bits)) return static_cast<int>(rules.bits);
  const auto* other = std::ranges::find_if(kBits, fits);
  return other == std::end(kBits) ? 0 : *other;
}

}  // namespace

GptqTensors::GptqTensors(const StoredTensors& tensors, const std::string& name, const GptqRules& rules)
    : stored(tensors), module(name) {
  codes = &stored.require(module + ".qweight", {"I32"});
  if (codes->shape.rank() != 2) {
    stored.fail(codes->name, fmt::format("shape {}: expected two dimensions", codes->shape.to_string()));
  }
  rows = codes->shape[1];
  bits = bits_of(stored, module, codes->shape, rules);
  if (bits == 0) {
    const RawTensor& packed = stored.require(module + ".qzeros", {"I32"});
    stored.fail(codes->name,
                fmt::format("shape {} with {} {}: expected [columns * bits / 32, rows] and [groups, rows * "
                            "bits / 32] for 2, 3, 4 or 8 bits",
                            codes->shape.to_string(), packed.name, packed.shape.to_string()));
  }
  cols = columns_of(stored, module, codes->shape, bits);
  if (cols % kGptqWord != 0) {
    throw_load_error(ErrorCode::kUnsupported, codes->name, "{}: tensor '{}': {} columns; only multiples of {} are read",
                     stored.checkpoint().path, codes->name, cols, kGptqWord);
  }
  if (rules.strict && bits != rules.bits) {
    stored.fail(codes->name, fmt::format("shape {}: codes of {} bits, but the configuration says {} of '{}'",
                                         codes->shape.to_string(), bits, rules.bits, module));
  }
  if (stored.find(module + ".scales") == nullptr) {
    stored.fail(module + ".scales", fmt::format("missing; expected F16, BF16 or F32 [groups, {}]", rows));
  }
  scales = &stored.require(module + ".scales", kNumberDtypes);
  if (scales->shape.rank() != 2 || scales->shape[1] != rows) {
    stored.fail(scales->name, fmt::format("shape {}: expected [groups, {}]", scales->shape.to_string(), rows));
  }
  groups = scales->shape[0];
  zeros = &stored.require(module + ".qzeros", {"I32"}, Shape{groups, words_of(rows, bits)});
  if (stored.find(module + ".g_idx") != nullptr) group_of = &stored.require(module + ".g_idx", {"I32"}, Shape{cols});
}

// Where they are less one, the tool that wrote them took one from each field of a whole word, so that a field of 0
// borrowed from the next one; adding it again to the word gives back what there was. Fields of 3 bits cross words and
// were counted down each by itself.
GptqZeroPoints read_zero_points(const GptqTensors& tensors, const GptqRules& rules) {
  const std::vector<std::byte> raw = tensors.stored.bytes(*tensors.zeros);
  std::vector<std::uint32_t> stored(raw.size() / 4);
  std::memcpy(stored.data(), raw.data(), raw.size());
  const int bits = tensors.bits, middle = 1 << (bits - 1), top = (1 << bits) - 1;
  const std::int64_t line = words_of(tensors.rows, bits);
  const auto zero_at = [&](std::int64_t r, std::int64_t g) {
    return static_cast<int>(stream_field(stored.data() + g * line, r, bits));
  };
  const auto all_are = [&](int value) {
    for (std::int64_t g = 0; g < tensors.groups; ++g) {
      for (std::int64_t r = 0; r < tensors.rows; ++r) {
        if (zero_at(r, g) != value) return false;
      }
    }
    return true;
  };
  GptqZeroPoints zeros;
  if (all_are(rules.zeros_less_one ? middle - 1 : middle)) return zeros;
  zeros.contradict = rules.zeros_less_one && rules.symmetric && all_are(middle);
  if (zeros.contradict) return zeros;
  const int added = rules.zeros_less_one && bits == 3 ? 1 : 0;
  if (rules.zeros_less_one && bits != 3)
    std::ranges::for_each(stored, [&](std::uint32_t& word) { word += ones(bits); });
  for (std::int64_t r = 0; r < tensors.rows; ++r) {
    for (std::int64_t g = 0; g < tensors.groups; ++g) {
      zeros.values.push_back(static_cast<std::uint8_t>((zero_at(r, g) + added) & top));
    }
  }
  return zeros;
}

std::vector<std::uint32_t> read_groups(const GptqTensors& tensors, const GptqRules& rules) {
  const std::int64_t cols = tensors.cols, groups = tensors.groups;
  const std::string name = tensors.module + ".g_idx";
  std::vector<std::uint32_t> group(static_cast<std::size_t>(cols));
  if (groups == 1) return group;
  if (tensors.group_of != nullptr) {
    const std::vector<std::int64_t> stored = tensors.stored.integers(*tensors.group_of);
    for (const std::int64_t g : stored) {
      if (g < 0 || g >= groups) tensors.stored.fail(name, fmt::format("group {} of {} does not exist", g, groups));
    }
    return {stored.begin(), stored.end()};
  }
  std::int64_t size = cols % groups == 0 ? cols / groups : 0;
  if (rules.group_size > 0 && (cols + rules.group_size - 1) / rules.group_size == groups) size = rules.group_size;
  if (rules.ordered || size == 0) tensors.stored.fail(name, "missing: the order of the columns is not known");
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i] = static_cast<std::uint32_t>(static_cast<std::int64_t>(i) / size);
  }
  return group;
}

namespace {

// Groups of one size may have any; of different ones, formats need blocks that divide all.
void check_members(const GptqTensors& tensors, const std::vector<std::int64_t>& members) {
  const auto uneven = [&](std::int64_t n) { return quant::largest_group(n) == 0 && n != 0; };
  const auto other = std::ranges::find_if(members, uneven);
  if (other == members.end() || std::ranges::all_of(members, [&](std::int64_t n) { return n == members[0]; })) return;
  const std::string& name = tensors.group_of != nullptr ? tensors.group_of->name : tensors.scales->name;
  throw_load_error(ErrorCode::kUnsupported, name,
                   "{}: tensor '{}': group {} has {} columns; only multiples of 32 are supported",
                   tensors.stored.checkpoint().path, name, other - members.begin(), *other);
}

}  // namespace

OpenedMatrix open_gptq_matrix(const GptqTensors& tensors, const GptqRules& rules, bool& contradict) {
  const std::vector<std::uint32_t> groups = read_groups(tensors, rules);
  std::vector<std::int64_t> members(static_cast<std::size_t>(tensors.groups));
  for (const std::uint32_t g : groups) ++members[g];
  const std::int64_t columns =
      std::accumulate(members.begin(), members.end(), std::int64_t{0}, std::gcd<std::int64_t, std::int64_t>);
  check_members(tensors, members);
  GptqZeroPoints zeros = read_zero_points(tensors, rules);
  contradict = zeros.contradict;
  GroupMatrix matrix{
      .rows = tensors.rows,
      .cols = tensors.cols,
      .groups = tensors.groups,
      .spec = {.bits = tensors.bits,
               .values = block_of_groups(columns),
               .offset = zeros.values.empty() ? quant::GroupOffset::kNone : quant::GroupOffset::kZeroPoint,
               .number = number_type(*tensors.scales)},
      .order = {},
      .group_of_block = {},
      .codes = codes_by_column(tensors.stored, *tensors.codes, tensors.cols, tensors.bits),
      .numbers = {},
      .scales_name = tensors.scales->name,
      .tensors = {tensors.codes, tensors.zeros, tensors.scales},
      .by_row = {tensors.scales},
      .groups_first = true};
  if (tensors.group_of != nullptr) matrix.tensors.push_back(tensors.group_of);
  order_by_group(matrix, std::vector<std::int64_t>(groups.begin(), groups.end()));
  matrix.numbers = [stored = tensors.stored, scales = tensors.scales, rows = tensors.rows, n = tensors.groups,
                    points = std::move(zeros.values)] {
    return GroupNumbers{number_bits(stored, *scales, rows, n, true), {}, points};
  };
  const std::int64_t rows = matrix.rows, cols = matrix.cols;
  return {rows, cols, group_weight(tensors.stored, std::move(matrix))};
}

namespace {

constexpr std::string_view kGptqCodes = ".qweight";

class GptqReader final : public MatrixReader {
 public:
  GptqReader(const GptqRules& rules, const checkpoint::Checkpoint& checkpoint)
      : MatrixReader(checkpoint), rules_(rules) {}

 protected:
  std::vector<std::string> modules() const override { return tensors_.stems(kGptqCodes); }
  bool has_module(const std::string& module) const override {
    return tensors_.find(module + std::string(kGptqCodes)) != nullptr;
  }
  OpenedMatrix open_module(const std::string& module) const override {
    bool contradict = false;
    OpenedMatrix opened = open_gptq_matrix(GptqTensors(tensors_, module, rules_), rules_, contradict);
    if (contradict && !told_.test_and_set()) {
      log::info("{}: qzeros hold zero points as they are, though checkpoint_format says less one",
                tensors_.checkpoint().path);
    }
    return opened;
  }

 private:
  GptqRules rules_;
  mutable std::atomic_flag told_;
};

}  // namespace

std::unique_ptr<WeightReader> gptq_reader(const GptqRules& rules, const checkpoint::Checkpoint& checkpoint) {
  return std::make_unique<GptqReader>(rules, checkpoint);
}

}  // namespace millrace::model
