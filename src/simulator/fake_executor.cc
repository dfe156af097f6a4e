#include "simulator/fake_executor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/counter_rng.h"
#include "engine/step_sink.h"
#include "engine/used_adapters.h"

namespace millrace::simulator {
namespace {

using rng::mix;

constexpr FakeDevice::Stamp kSpoiled = 0;  // no token's

std::uint64_t stamp_of(std::int32_t token, std::int64_t position, std::uint64_t adapters) noexcept {
  return (mix(mix(static_cast<std::uint64_t>(token) + 1) + static_cast<std::uint64_t>(position)) ^ adapters) | 1;
}

std::uint64_t add_adapter(std::uint64_t stamp, const std::string& key, float scale) noexcept {
  stamp = mix(stamp + std::bit_cast<std::uint32_t>(scale) + 1);
  for (const char c : key) stamp = mix(stamp + static_cast<unsigned char>(c));
  return stamp;
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

FakeDevice::FakeDevice(std::int32_t pages, std::int64_t block_tokens, std::uint64_t companion_key,
                       std::int32_t window_pages)
    : pages_(pages),
      block_tokens_(block_tokens),
      companion_key_(companion_key),
      stamps_(static_cast<std::size_t>(pages) * static_cast<std::size_t>(block_tokens)),
      windowed_(window_pages > 0 ? std::make_unique<FakeDevice>(window_pages, block_tokens) : nullptr) {}

void FakeDevice::copy(kv::BlockId from, kv::BlockId to) { std::memcpy(page(to), page(from), page_bytes()); }

void FakeDevice::read(kv::BlockId id, std::span<std::byte> out) const {
  std::memcpy(out.data(), const_cast<FakeDevice*>(this)->page(id), page_bytes());
}

void FakeDevice::write(kv::BlockId id, std::span<const std::byte> in) {
  std::memcpy(page(id), in.data(), page_bytes());
}

kv::PageCompanion FakeDevice::companion() const noexcept {
  return {companion_key_, companion_key_ == 0 ? 0 : sizeof(std::uint64_t)};
}

void FakeDevice::read_companion(kv::BlockId id, std::span<std::byte> out) const {
  std::uint64_t hash = companion_key_;
  const Stamp* stamps = const_cast<FakeDevice*>(this)->page(id);
  for (std::int64_t i = 0; i < block_tokens_; ++i) hash = absorb(hash, stamps[i]);
  std::memcpy(out.data(), &hash, sizeof(hash));
}

void FakeDevice::write_companion(kv::BlockId id, std::span<const std::byte> in) {
  std::array<std::byte, sizeof(std::uint64_t)> expected{};
  read_companion(id, expected);
  CHECK(std::ranges::equal(in, expected));
}

void FakeDevice::freed(kv::BlockId id) { std::fill_n(page(id), block_tokens_, kSpoiled); }

void* FakeDevice::HostMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (fails && fails()) throw std::bad_alloc();
  return std::pmr::new_delete_resource()->allocate(bytes, alignment);
}

void FakeDevice::HostMemory::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
}

FakeDevice::Stamp& FakeDevice::at(std::span<const kv::BlockId> pages, std::int64_t position) {
  const auto index = static_cast<std::size_t>(position / block_tokens_);
  CHECK_LT(index, pages.size());
  return page(pages[index])[position % block_tokens_];
}

std::uint64_t adapter_stamp(std::span<const engine::AdapterUse> adapters) noexcept {
  std::uint64_t stamp = 0;
  for (const engine::AdapterUse& use : adapters) stamp = add_adapter(stamp, use.key, use.scale);
  return stamp;
}

void FakeText::append(std::int32_t token) noexcept { state_ = absorb(state_, stamp_of(token, length_++, adapters_)); }

void FakeText::logits(std::span<float> logits) const noexcept { write_logits(state_, logits); }

std::vector<float> fake_logits(std::span<const std::int32_t> tokens, std::int64_t vocab_size) {
  FakeText text;
  for (const std::int32_t token : tokens) text.append(token);
  std::vector<float> logits(static_cast<std::size_t>(vocab_size));
  text.logits(logits);
  return logits;
}

sched::StepWork work_of(const engine::StepInput& input) noexcept {
  sched::StepWork work;
  for (const engine::StepInput::Rows& rows : input.sequences) work.add(rows.n_rows, rows.first_position);
  work.samples = std::ssize(input.logit_rows) + std::ssize(input.sampled_rows);
  return work;
}

FakeExecutor::FakeExecutor(const Config& config, OnStep on_step)
    : config_(config),
      on_step_(std::move(on_step)),
      device_(config.pages, config.block_tokens, config.companion_key, config.window > 0 ? config.window_pages : 0),
      fed_(config.depth) {}

std::shared_ptr<const model::Adapter> FakeExecutor::adapter(const engine::AdapterUse& use) const {
  if (adapters_ == nullptr) return nullptr;
  const bool known = use.adapter != nullptr && adapters_->set()->of_id(use.adapter->id()) != nullptr;
  return known ? use.adapter : adapters_->set()->of_key(use.key);
}

std::unique_ptr<model::AdapterClaim> FakeExecutor::claim(const std::vector<engine::AdapterUse>& adapters) const {
  return adapters_ == nullptr ? nullptr : engine::claim_adapters(adapters_, adapters);
}

std::uint64_t FakeExecutor::stamp_of_adapters(const engine::StepInput::Adapters& adapters) const {
  std::uint64_t stamp = 0;
  for (std::size_t i = 0; i < adapters.ids.size() && adapters.ids[i] != 0; ++i) {
    const model::Adapter* adapter = adapters_->set()->of_id(adapters.ids[i]);
    CHECK(adapter != nullptr);  // its request keeps it
    stamp = add_adapter(stamp, adapter->key(), adapters.scales[i]);
  }
  return stamp;
}

void FakeExecutor::launch(engine::StepInput input) {
  CHECK_LT(static_cast<int>(launched_.size()), config_.depth);
  check_written_by_one(input, false);
  if (config_.window > 0) check_written_by_one(input, true);
  launched_.push_back(input);  // a copy, with pages as they are now
}

// No sequence reads a page in the step that another one writes in.
void FakeExecutor::check_written_by_one(const engine::StepInput& input, bool windowed) {
  constexpr std::int32_t kNobody = -1;
  writer_.assign(static_cast<std::size_t>(windowed ? config_.window_pages : config_.pages), kNobody);
  const auto n = static_cast<std::int32_t>(input.sequences.size());
  for (std::int32_t s = 0; s < n; ++s) {
    const engine::StepInput::Rows& rows = input.sequences[static_cast<std::size_t>(s)];
    const auto& pages = windowed ? rows.window_pages : rows.pages;
    CHECK_LT(0, rows.n_rows);
    const std::int64_t last = (rows.first_position + rows.n_rows - 1) / config_.block_tokens;
    CHECK_LT(last, static_cast<std::int64_t>(pages.size()));
    for (std::int64_t page = rows.first_position / config_.block_tokens; page <= last; ++page) {
      writer_[static_cast<std::size_t>(pages[static_cast<std::size_t>(page)])] = s;
    }
  }
  for (std::int32_t s = 0; s < n; ++s) {
    const engine::StepInput::Rows& rows = input.sequences[static_cast<std::size_t>(s)];
    const auto pages = windowed ? rows.window_pages : rows.pages;
    const std::int64_t seen = windowed ? first_seen(rows.first_position) / config_.block_tokens : 0;
    for (const kv::BlockId page : pages.subspan(static_cast<std::size_t>(seen))) {
      const std::int32_t writer = writer_[static_cast<std::size_t>(page)];
      CHECK(writer == kNobody || writer == s);
    }
  }
}

std::int64_t FakeExecutor::first_seen(std::int64_t position) const noexcept {
  return std::max<std::int64_t>(0, position - config_.window + 1);
}

// What the sequence's rows from `first` on wrote.
void FakeExecutor::spoil(const engine::StepInput& input, std::size_t sequence, std::int64_t first) {
  const engine::StepInput::Rows& rows = input.sequences[sequence];
  for (std::int64_t i = first; i < rows.n_rows; ++i) {
    device_.at(rows.pages, rows.first_position + i) = kSpoiled;
    if (config_.window > 0) device_.windowed()->at(rows.window_pages, rows.first_position + i) = kSpoiled;
  }
}

// A hash of all that each of the rows reads, as `columns` numbers.
void FakeExecutor::hash_rows(const engine::StepInput& input, std::span<const std::int64_t> chosen, std::size_t columns,
                             std::span<float> values) {
  std::size_t out = 0;
  for (std::size_t s = 0; s < input.sequences.size(); ++s) {
    const engine::StepInput::Rows& rows = input.sequences[s];
    for (; out < chosen.size() && chosen[out] < rows.first_row + rows.n_rows; ++out) {
      const std::int64_t end = rows.first_position + chosen[out] - rows.first_row + 1;
      std::uint64_t state = 0;
      for (std::int64_t p = 0; p < end; ++p) state = absorb(state, device_.at(rows.pages, p));
      for (std::int64_t p = first_seen(end - 1); config_.window > 0 && p < end; ++p) {
        const FakeDevice::Stamp seen = device_.windowed()->at(rows.window_pages, p);
        if (seen != device_.at(rows.pages, p)) state = absorb(state, seen);  // else it changes nothing
      }
      write_logits(state, values.subspan(out * columns, columns));
    }
  }
}

// `sampled`: logits of the sampled rows, which may have been spoiled since they were computed.
void FakeExecutor::feed(const engine::StepInput& input, std::span<float> sampled, engine::StepResult& result) {
  engine::StepSink sink(input, result);
  const auto rows_of = [&](std::span<const std::int64_t> rows, std::int64_t columns) {
    sunk_.assign(rows.size() * static_cast<std::size_t>(columns), 0.0f);
    hash_rows(input, rows, static_cast<std::size_t>(columns), sunk_);
    return TensorView(sunk_.data(), DType::kF32, {static_cast<std::int64_t>(rows.size()), columns});
  };
  const std::vector<std::int64_t> rows = sink.logit_rows();
  for (std::size_t i = 0, next = 0; i < rows.size(); ++i) {
    if (next < input.sampled_rows.size() && input.sampled_rows[next].row == rows[i]) {
      const std::size_t begin = next++ * static_cast<std::size_t>(config_.vocab_size);
      sink.take_logits(static_cast<std::int64_t>(i), {&sampled[begin], DType::kF32, {1, config_.vocab_size}});
    } else {
      sink.take_logits(static_cast<std::int64_t>(i), rows_of(std::span(rows).subspan(i, 1), config_.vocab_size));
    }
  }
  if (!input.hidden_rows.empty()) sink.take_hidden(0, rows_of(input.hidden_rows, kStateSize));
}

void FakeExecutor::write_stamps(const engine::StepInput& input) {
  for (const engine::StepInput::Rows& rows : input.sequences) {
    const std::uint64_t adapters = stamp_of_adapters(rows.adapters);
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
      const std::int32_t token = input.tokens[static_cast<std::size_t>(rows.first_row + i)];
      const std::int64_t position = rows.first_position + i;
      device_.at(rows.pages, position) = stamp_of(token, position, adapters);
      if (config_.window > 0) device_.windowed()->at(rows.window_pages, position) = device_.at(rows.pages, position);
    }
  }
}

// `rows` ascend.
void FakeExecutor::spoil_broken_rows(const engine::StepInput& input, std::span<const std::int64_t> rows,
                                     std::span<const float> logits) {
  const auto vocabulary = static_cast<std::size_t>(config_.vocab_size);
  std::size_t at = 0;
  for (std::size_t s = 0; s < input.sequences.size(); ++s) {
    const engine::StepInput::Rows& of = input.sequences[s];
    bool drafted = false;  // a draft token, which may be wrong: then what came of it harms nothing before it
    for (; at < rows.size() && rows[at] < of.first_row + of.n_rows; ++at) {
      if (std::isnan(logits[at * vocabulary])) spoil(input, s, drafted ? rows[at] - of.first_row : 0);
      drafted = true;
    }
  }
}

Result<engine::StepResult> FakeExecutor::wait() {
  CHECK(!launched_.empty());
  engine::StepInput input = std::move(launched_.front());
  launched_.pop_front();
  fed_.fill(input);
  std::vector<std::int64_t> sampled_rows;
  for (const engine::StepInput::Sampled& sampled : input.sampled_rows) sampled_rows.push_back(sampled.row);
  const auto vocabulary = static_cast<std::size_t>(config_.vocab_size);
  logits_.assign((input.logit_rows.size() + sampled_rows.size()) * vocabulary, 0.0f);
  const std::span logits = std::span(logits_).first(input.logit_rows.size() * vocabulary);
  const std::span sampled = std::span(logits_).subspan(logits.size());
  write_stamps(input);
  hash_rows(input, input.logit_rows, vocabulary, logits);
  hash_rows(input, sampled_rows, vocabulary, sampled);
  if (auto ran = on_step_(input, logits_); !ran) {
    for (std::size_t s = 0; s < input.sequences.size(); ++s) spoil(input, s, 0);
    fed_.keep(std::vector<std::optional<std::int32_t>>(sampled_rows.size()));
    return ran.error();
  }
  engine::StepResult result;
  feed(input, sampled, result);
  fed_.keep(result.sampled);
  spoil_broken_rows(input, input.logit_rows, logits);
  spoil_broken_rows(input, sampled_rows, sampled);
  result.logits =
      TensorView(logits_.data(), DType::kF32, {static_cast<std::int64_t>(input.logit_rows.size()), config_.vocab_size});
  return result;
}

}  // namespace millrace::simulator
