// Weights in two tensors: w = .first + .second, both f32, the matrix's shape.
#include <cstring>

#include "model/weights/plain_weights.h"
#include "model/weights/weight_reader.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

constexpr std::string_view kWeight = ".weight";

std::string part(std::string_view name, std::string_view ending) {
  return std::string(name.substr(0, name.size() - kWeight.size())) + std::string(ending);
}

class HalvedWeight final : public StoredWeight {
 public:
  HalvedWeight(const Checkpoint& checkpoint, const std::string& name, const Shape& shape)
      : checkpoint_(checkpoint),
        first_(require_tensor(checkpoint, part(name, ".first"), shape)),
        second_(require_tensor(checkpoint, part(name, ".second"), shape)),
        row_bytes_(first_.format->row_bytes(shape[1])) {
    format = first_.format;
    tensors = {&first_, &second_};
  }
  void read(std::int64_t first, std::int64_t, std::span<std::byte> out) const override {
    std::vector<std::byte> other(out.size());
    checkpoint_.read(first_, row_bytes_ * static_cast<std::size_t>(first), out).or_throw();
    checkpoint_.read(second_, row_bytes_ * static_cast<std::size_t>(first), other).or_throw();
    for (std::size_t at = 0; at < out.size(); at += sizeof(float)) {
      float a = 0.0f, b = 0.0f;
      std::memcpy(&a, out.data() + at, sizeof a);
      std::memcpy(&b, other.data() + at, sizeof b);
      a += b;
      std::memcpy(out.data() + at, &a, sizeof a);
    }
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    const auto offset = row_bytes_ * static_cast<std::uint64_t>(first),
               bytes = row_bytes_ * static_cast<std::uint64_t>(count);
    return {{&first_, offset, bytes}, {&second_, offset, bytes}};
  }

 private:
  const Checkpoint& checkpoint_;
  const RawTensor &first_, &second_;
  std::size_t row_bytes_;
};

class HalvedReader final : public WeightReader {
 public:
  explicit HalvedReader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  bool has(const std::string& name) const override {
    return name.ends_with(kWeight) && checkpoint_.find(part(name, ".first")) != nullptr;
  }
  std::unique_ptr<StoredWeight> open(const std::string& name, const MatrixShape& shape) const override {
    return std::make_unique<HalvedWeight>(checkpoint_, name, Shape{shape.rows, shape.cols});
  }
  std::vector<MatrixInfo> matrices() const override {
    std::vector<MatrixInfo> all;
    for (const RawTensor& tensor : checkpoint_.tensors) {
      const std::size_t at = tensor.name.rfind(".first");
      if (at == std::string::npos) continue;
      const std::string name = tensor.name.substr(0, at) + std::string(kWeight);
      const RawTensor* second = checkpoint_.find(part(name, ".second"));
      all.push_back({name, tensor.format, tensor.shape[0], tensor.shape[1], {&tensor, second}});
    }
    return all;
  }

 private:
  const Checkpoint& checkpoint_;
};

}  // namespace

WeightReaderKind halved() {
  return {.method = "halved",
          .accepts = [](const JsonFields& quantization,
                        const Checkpoint&) { return quantization.text("quant_method") == "halved"; },
          .open = [](const JsonFields&, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<HalvedReader>(checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers
