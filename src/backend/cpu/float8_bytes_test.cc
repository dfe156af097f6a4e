// Every e4m3 number in the kernels that widen them: for few rows and for many, denormals and both zeros too.

#include <gtest/gtest.h>

#include <cstring>

#include "backend/cpu/testing/reference.h"
#include "backend/testing/test_backend.h"
#include "quant/group_format.h"
#include "tensor/dtype.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kBytes = 256, kColumns = 32;

std::uint8_t finite_byte(std::int64_t s) { return (s & 0x7f) == 0x7f ? 0 : static_cast<std::uint8_t>(s); }

// Row s: a group with scale 1 and nothing but the byte s.
WeightSource all_bytes(const quant::QuantFormat& format) {
  WeightSource source{.name = "w", .format = &format, .rows = kBytes, .cols = kColumns, .read = {}};
  source.read = [](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    const float one = 1.0f;
    std::byte* to = out.data();
    for (std::int64_t s = first; s < first + count; ++s, to += kColumns) {
      std::memcpy(to, &one, sizeof one);
      to += sizeof one;
      std::memset(to, finite_byte(s), kColumns);
    }
  };
  return source;
}

TEST(Float8Bytes, AreWidenedExactly) {
  const quant::QuantFormat& format = *quant::find_any_format("e4m3_g32");
  for (const cpu::KernelSet* set : cpu::supported_sets()) {
    const auto backend = make_test_backend(1, std::string(to_string(set->isa)));
    const auto weight = backend->make_linear({all_bytes(format)}, MatmulPrecision::kAuto);
    for (const std::int64_t rows : {1, 3, 4, 21}) {
      std::vector<float> x(static_cast<std::size_t>(rows * kColumns));
      for (std::int64_t r = 0; r < rows; ++r) x[static_cast<std::size_t>(r * kColumns + r)] = 1.0f;
      const DeviceVector input = backend->make_vector(x);
      const DeviceBuffer memory = backend->allocate(sizeof(float) * static_cast<std::size_t>(rows * kBytes)).or_throw();
      backend->linear(*weight, {}, DeviceView(input.address(), DType::kF32, {rows, kColumns}),
                      memory.view(rows, kBytes));
      backend->synchronize();
      std::vector<float> out(static_cast<std::size_t>(rows * kBytes));
      backend->download(memory.address(), std::as_writable_bytes(std::span(out)));
      for (std::int64_t i = 0; i < rows * kBytes; ++i) {
        EXPECT_EQ(out[static_cast<std::size_t>(i)], e4m3_to_f32(finite_byte(i % kBytes)))
            << to_string(set->isa) << " rows " << rows << " row " << i / kBytes << " byte " << i % kBytes;
      }
    }
  }
}

}  // namespace
}  // namespace millrace::backend
