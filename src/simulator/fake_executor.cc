#include "simulator/fake_executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "decode/noise.h"

namespace millrace::simulator {
namespace {

using decode::mix;

std::uint64_t stamp_of(std::int32_t token, std::int64_t position) noexcept {
  return mix(mix(static_cast<std::uint64_t>(token) + 1) + static_cast<std::uint64_t>(position)) | 1;
}

// Order matters: the same stamps elsewhere are another text.
std::uint64_t absorb(std::uint64_t state, std::uint64_t stamp) noexcept {
  return (state ^ stamp) * 0x9e3779b97f4a7c15ull + (state >> 29);
}

void write_logits(std::uint64_t state, std::span<float> logits) noexcept {
  for (std::size_t v = 0; v < logits.size(); ++v) {
    logits[v] = static_cast<float>(mix(state + v) >> 40) * 0x1p-21f;  // [0, 8)
  }
}

}  // namespace

FakeDevice::FakeDevice(std::int32_t pages, std::int64_t block_tokens)
    : pages_(pages),
      block_tokens_(block_tokens),
      stamps_(static_cast<std::size_t>(pages) * static_cast<std::size_t>(block_tokens)) {}

void FakeDevice::copy(kv::BlockId from, kv::BlockId to) { std::memcpy(page(to), page(from), page_bytes()); }

void FakeDevice::read(kv::BlockId id, std::span<std::byte> out) const {
  std::memcpy(out.data(), const_cast<FakeDevice*>(this)->page(id), page_bytes());
}

void FakeDevice::write(kv::BlockId id, std::span<const std::byte> in) {
  std::memcpy(page(id), in.data(), page_bytes());
}

FakeDevice::Stamp& FakeDevice::at(std::span<const kv::BlockId> pages, std::int64_t position) {
  const auto index = static_cast<std::size_t>(position / block_tokens_);
  CHECK_LT(index, pages.size());
  return page(pages[index])[position % block_tokens_];
}

std::vector<float> fake_logits(std::span<const std::int32_t> tokens, std::int64_t vocab_size) {
  std::uint64_t state = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    state = absorb(state, stamp_of(tokens[i], static_cast<std::int64_t>(i)));
  }
  std::vector<float> logits(static_cast<std::size_t>(vocab_size));
  write_logits(state, logits);
  return logits;
}

FakeExecutor::FakeExecutor(const Config& config, OnStep on_step)
    : config_(config), on_step_(std::move(on_step)), device_(config.pages, config.block_tokens) {}

void FakeExecutor::launch(model::BatchInput input) {
  CHECK_LT(static_cast<int>(launched_.size()), config_.depth);
  Launched step{std::move(input), {}};
  for (backend::SequenceRows& rows : step.input.sequences) {
    step.pages.emplace_back(rows.pages.begin(), rows.pages.end());
    rows.pages = {};
  }
  launched_.push_back(std::move(step));
}

Result<TensorView> FakeExecutor::wait() {
  CHECK(!launched_.empty());
  const Launched step = std::move(launched_.front());
  launched_.pop_front();
  const model::BatchInput& input = step.input;
  const auto vocabulary = static_cast<std::size_t>(config_.vocab_size);
  logits_.assign(input.logit_rows.size() * vocabulary, 0.0f);
  for (std::size_t s = 0; s < input.sequences.size(); ++s) {
    const backend::SequenceRows& rows = input.sequences[s];
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
      const std::int32_t token = input.tokens[static_cast<std::size_t>(rows.first_row + i)];
      device_.at(step.pages[s], rows.first_position + i) = stamp_of(token, rows.first_position + i);
    }
  }
  std::size_t out = 0;
  for (std::size_t s = 0; s < input.sequences.size(); ++s) {
    const backend::SequenceRows& rows = input.sequences[s];
    for (; out < input.logit_rows.size() && input.logit_rows[out] < rows.first_row + rows.n_rows; ++out) {
      const std::int64_t end = rows.first_position + input.logit_rows[out] - rows.first_row + 1;
      std::uint64_t state = 0;
      for (std::int64_t p = 0; p < end; ++p) state = absorb(state, device_.at(step.pages[s], p));
      write_logits(state, std::span(logits_).subspan(out * vocabulary, vocabulary));
    }
  }
  if (auto ran = on_step_(input, logits_); !ran) return ran.error();
  return TensorView(logits_.data(), DType::kF32,
                    {static_cast<std::int64_t>(input.logit_rows.size()), config_.vocab_size});
}

}  // namespace millrace::simulator
