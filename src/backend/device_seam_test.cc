// What a backend owes to those who cannot see its memory: transfers, operations on rows, exchange between ranks, and
// the lock that tests hold it to.

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "backend/device_kind.h"
#include "backend/testing/device_rows.h"
#include "backend/testing/test_backend.h"
#include "comm/testing/forked_ranks.h"
#include "comm/testing/rank_threads.h"
#include "tensor/dtype.h"

namespace millrace::backend {
namespace {

class DeviceSeamTest : public testing::Test {
 protected:
  LockedBackend backend_{cpu::make_cpu_backend({.threads = 2}).or_throw()};
};

TEST_F(DeviceSeamTest, BytesComeBackAsTheyWent) {
  const Values values = random_values(3000, 1);
  const DeviceBuffer from = matrix(backend_, values);
  const DeviceBuffer to = backend_.allocate(2 * values.size() * sizeof(float)).or_throw();
  backend_.copy(from.address() + 400, to.address() + 4000, 8000);
  Values back(2000);
  backend_.download(to.address() + 4000, std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back, Values(values.begin() + 100, values.begin() + 2100));
  EXPECT_TRUE(backend_.make_vector({}).empty());
  const DeviceVector vector = backend_.make_vector(values);
  EXPECT_EQ(values_of(backend_, DeviceView(vector.address(), DType::kF32, {1, vector.size()})), values);
}

TEST_F(DeviceSeamTest, RowsGoIntoATableAndComeBackRoundedToItsType) {
  const Values x = random_values(4 * 20, 2);
  const DeviceBuffer rows = matrix(backend_, x);
  const std::vector<std::int64_t> chosen = {3, 0, 2}, slots = {1, 7, 4};
  for (const DType type : {DType::kF32, DType::kBF16}) {
    const DeviceBuffer memory = backend_.allocate(8 * 20 * 4).or_throw();
    const DeviceView table = memory.view(8, 20, type);
    const DeviceBuffer out = backend_.allocate(3 * 20 * 4).or_throw();
    backend_.store_rows(rows.view(4, 20), chosen, slots, table);
    backend_.load_rows(table, slots, out.view(3, 20));
    const Values back = values_of(backend_, out.view(3, 20));
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t c = 0; c < 20; ++c) {
        const float value = x[static_cast<std::size_t>(chosen[i]) * 20 + c];
        EXPECT_EQ(back[i * 20 + c], type == DType::kF32 ? value : bf16_to_f32(f32_to_bf16(value)));
      }
    }
  }
}

TEST_F(DeviceSeamTest, RotaryTablesHoldCosinesAndSinesOfAnglesInDouble) {
  const std::vector<double> inverse = {1.0, 0.1, 0.01};
  const std::vector<std::int32_t> positions = {0, 5, 100000};
  const DeviceBuffer out = backend_.allocate(3 * 6 * 4).or_throw();
  backend_.rotary_table(positions, {inverse, 1.25}, out.view(3, 6));
  const Values table = values_of(backend_, out.view(3, 6));
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double angle = positions[t] * inverse[i];
      EXPECT_EQ(table[t * 6 + i], static_cast<float>(std::cos(angle) * 1.25));
      EXPECT_EQ(table[t * 6 + 3 + i], static_cast<float>(std::sin(angle) * 1.25));
    }
  }
}

// So that an exchange can stand between a product and the residual.
TEST_F(DeviceSeamTest, AProductAddedLaterHasTheBitsOfOneAddedAtOnce) {
  constexpr std::int64_t kRows = 5, kIn = 48, kOut = 80;
  const Values weights = random_values(kOut * kIn, 3), residual = random_values(kRows * kOut, 5);
  const auto weight = weight_of(backend_, weights, kIn, 0, kOut);
  const DeviceVector bias = backend_.make_vector(random_values(kOut, 6));
  const DeviceBuffer x = matrix(backend_, random_values(kRows * kIn, 4));
  const DeviceBuffer once = matrix(backend_, residual), later = matrix(backend_, residual);
  const DeviceBuffer product = backend_.allocate(kRows * kOut * 4).or_throw();
  backend_.linear(*weight, {.bias = bias.address(), .accumulate = true}, x.view(kRows, kIn), once.view(kRows, kOut));
  backend_.linear(*weight, {.bias = bias.address()}, x.view(kRows, kIn), product.view(kRows, kOut));
  backend_.exchange({}, product.view(kRows, kOut));
  backend_.add({}, product.view(kRows, kOut), later.view(kRows, kOut));
  EXPECT_EQ(values_of(backend_, later.view(kRows, kOut)), values_of(backend_, once.view(kRows, kOut)));
}

// Rows of uneven parts, in blocks that fit into the memory of the group, by one worker and by several.
TEST_F(DeviceSeamTest, RanksWithPartsOfTheRowsGetTheBitsOfOne) {
  constexpr std::int64_t kRows = 300, kIn = 64, kOut = 96;
  const Values weights = random_values(kOut * kIn, 7), input = random_values(kRows * kIn, 8);
  const Values residual = random_values(kRows * kOut, 9);
  const auto compute = [&](Backend& backend, const std::vector<std::int64_t>& borders, std::int64_t rows) {
    const std::int64_t first = borders[static_cast<std::size_t>(backend.rank())];
    const std::int64_t n = borders[static_cast<std::size_t>(backend.rank()) + 1] - first;
    const auto weight = weight_of(backend, weights, kIn, first, n);
    const DeviceBuffer x = matrix(backend, input), out = matrix(backend, residual);
    for (int step = 0; step < 3; ++step) {
      const DeviceView all = out.view(rows, kOut);
      backend.linear(*weight, {.accumulate = true}, x.view(rows, kIn), all.columns(first, n));
      backend.exchange({.borders = borders}, all);
    }
    return values_of(backend, out.view(rows, kOut));
  };
  for (const std::int64_t rows : {1, 7, 300}) {
    const Values expected = compute(backend_, {0, kOut}, rows);
    for (const std::vector<std::int64_t>& borders : {std::vector<std::int64_t>{0, 32, 96}, {0, 16, 16, 96}}) {
      comm::run_ranks({.stage_ranks = static_cast<int>(borders.size()) - 1, .memory = 1 << 16},
                      [&](std::shared_ptr<comm::Communicator> group) {
                        LockedBackend backend{cpu::make_cpu_backend({.threads = 2, .communicator = group}).or_throw()};
                        EXPECT_EQ(compute(backend, borders, rows), expected) << rows;
                      });
    }
  }
}

TEST_F(DeviceSeamTest, EveryRankGetsTheRowsOfTheirOwners) {
  const Values values = random_values(5 * 16, 3);
  const std::vector<std::int32_t> owners = {1, 0, 2, 2, 1};
  comm::run_ranks({.stage_ranks = 3, .memory = 1 << 16}, [&](std::shared_ptr<comm::Communicator> group) {
    auto backend = cpu::make_cpu_backend({.threads = 1, .communicator = group}).or_throw();
    Values own = values;
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = owners[i / 16] == group->rank() ? own[i] : -7.0f;
    const DeviceBuffer rows = matrix(*backend, own);
    backend->exchange({.owners = owners}, rows.view(5, 16));
    EXPECT_EQ(values_of(*backend, rows.view(5, 16)), values);
  });
}

TEST_F(DeviceSeamTest, AStepWithoutOneOfItsRanksFailsAndNamesIt) {
  comm::ForkedRanks ranks({.stage_ranks = 2, .memory = 1 << 16}, [](comm::Communicator&) {});
  std::shared_ptr<comm::Communicator> group(&ranks.leader(), [](comm::Communicator*) {});
  auto backend = cpu::make_cpu_backend({.threads = 1, .communicator = group}).or_throw();
  const DeviceBuffer rows = matrix(*backend, Values(32, 1.0f));
  const std::vector<std::int64_t> borders = {0, 8, 16};
  for (int step = 0; step < 2; ++step) {
    backend->exchange({.borders = borders}, rows.view(2, 16));
    try {
      backend->synchronize();
      ADD_FAILURE();
    } catch (const LoadError& failure) {
      EXPECT_EQ(failure.error().code, ErrorCode::kUnavailable);
      EXPECT_NE(failure.error().message.find("rank 1 (process"), std::string::npos) << failure.error().message;
    }
    backend->synchronize();  // nothing is left
  }
}

// The number at a place of the device's memory, as host code would come by it that must not.
float stolen(const DeviceView& view) {
  const volatile float* at = cpu::pointer(view.data);
  return *at;
}

TEST_F(DeviceSeamTest, HostCodeThatTouchesTheMemoryOfADeviceDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DeviceBuffer memory = backend_.allocate(4096).or_throw();
  EXPECT_DEATH(*cpu::pointer(memory.address()) = 1.0f, "");
  EXPECT_DEATH(stolen(memory.view(8, 16)), "");
  const DeviceView view = memory.view(8, 16);
  {
    const HostView lease = backend_.host_view(view);
    EXPECT_EQ(lease.view().row(7)[15], 0.0f);
    EXPECT_DEATH(*lease.view().row(0) = 1.0f, "");
  }
  EXPECT_DEATH(*cpu::pointer(view.data) = 1.0f, "");
  EXPECT_DEATH(stolen(view), "");
}

// Between the call of an operation and synchronize(), and after it, as before.
TEST_F(DeviceSeamTest, HostCodeThatTouchesTheMemoryOfAStepDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DeviceBuffer from = matrix(backend_, Values(128, 2.0f)), to = matrix(backend_, Values(128, 1.0f));
  const DeviceView x = from.view(8, 16), out = to.view(8, 16);
  backend_.add({}, x, out);
  EXPECT_DEATH(stolen(out), "");
  EXPECT_DEATH(*cpu::pointer(x.data) = 1.0f, "");
  backend_.synchronize();
  EXPECT_DEATH(stolen(out), "");
  EXPECT_DEATH(*cpu::pointer(out.data) = 1.0f, "");
  EXPECT_EQ(values_of(backend_, out), Values(128, 3.0f));
}

TEST_F(DeviceSeamTest, ALeaseOpensNothingElseAndAnotherStaysWhenItEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DeviceBuffer memory = matrix(backend_, Values(128, 2.0f)), other = matrix(backend_, Values(128, 1.0f));
  HostView first = backend_.host_view(memory.view(8, 16));
  const HostView second = backend_.host_view(memory.view(8, 16).row_range(4, 4));  // of the same page
  EXPECT_DEATH(stolen(other.view(8, 16)), "");
  first.release();
  EXPECT_EQ(second.view().row(3)[15], 2.0f);
  backend_.add({}, other.view(8, 16), memory.view(8, 16));
  backend_.synchronize();
  EXPECT_EQ(second.view().row(3)[15], 3.0f);
}

TEST_F(DeviceSeamTest, MemoryThatWasGivenBackComesZeroedAndLocked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DeviceAddress before = matrix(backend_, Values(128, 2.0f)).address();
  EXPECT_DEATH(stolen({before, DType::kF32, {8, 16}}), "");
  const DeviceBuffer again = backend_.allocate(128 * sizeof(float)).or_throw();
  EXPECT_EQ(again.address(), before);
  EXPECT_DEATH(stolen(again.view(8, 16)), "");
  EXPECT_EQ(values_of(backend_, again.view(8, 16)), Values(128, 0.0f));
}

TEST(DeviceKind, IsChosenByNameAndAnUnknownOneNamesTheKnown) {
  const DeviceKind& cpu = *choose_device("cpu").or_throw();
  EXPECT_EQ(cpu.kv_layouts().front(), "paged32");
  EXPECT_EQ(cpu.kv_format("bf16", "token", 0).or_throw().block_tokens, 1);
  EXPECT_EQ(cpu.kv_format("bf16", "paged32", 24).error().param, "block-size");
  const Limits limits = cpu.make({.threads = 1}).or_throw()->limits();
  EXPECT_EQ(limits.max_key_dim, 576);
  EXPECT_EQ(limits.max_value_dim, 512);
  const auto unknown = choose_device("abacus");
  EXPECT_EQ(unknown.error().param, "device");
  EXPECT_EQ(unknown.error().message, "device is 'abacus': expected one of cpu");
}

}  // namespace
}  // namespace millrace::backend
