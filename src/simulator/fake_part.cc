#include "simulator/fake_part.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checksum.h"
#include "comm/step_timeout.h"
#include "model/ranks/stage_link.h"

namespace millrace::simulator {

constexpr std::chrono::hours kAnyAnswerTime{24 * 365 * 10};
constexpr std::int64_t kMaxSlots = 1 << 20;  // of a store

class FakePages final : public model::RankPages {
 public:
  FakePages(FakePart& part, const model::RankStore& store)
      : part_(part), device_(store.pages, store.block_tokens, 0, part.model_.window > 0 ? store.window_pages : 0) {
    device_.keep(part.heads_);
    part_.device_ = &device_;
  }
  ~FakePages() override {
    if (part_.device_ == &device_) part_.device_ = nullptr;
  }
  kv::PageDevice& device() noexcept override { return device_; }
  model::StepLimits limits() const noexcept override {
    const FakeDevice* windowed = const_cast<FakeDevice&>(device_).windowed();
    return {.vocabulary = part_.model_.vocab_size,
            .positions = part_.model_.max_length,
            .layers = kFakeLayers,
            .block_tokens = device_.block_tokens(),
            .pages = device_.pages(),
            .window_pages = windowed == nullptr ? 0 : windowed->pages(),
            .window = part_.model_.window};
  }
  void compute(const model::BatchInput& input) override { part_.compute(input, device_); }

 private:
  FakePart& part_;
  FakeDevice device_;
};

std::size_t exchange_bytes(int stage_ranks, std::int64_t rows) {
  return 2 * static_cast<std::size_t>(stage_ranks) * static_cast<std::size_t>(rows) * sizeof(std::uint64_t);
}

// Two blocks by turns, so that none is written anew while another rank may still read it.
std::vector<std::uint64_t> add_ranks(comm::Communicator& group, std::vector<std::uint64_t> own,
                                     const std::vector<std::uint64_t>& before) {
  const auto ranks = static_cast<std::size_t>(group.stage_ranks()), place = static_cast<std::size_t>(group.place());
  const std::size_t bytes = own.size() * sizeof(std::uint64_t);
  if (ranks > 1) {
    std::vector<std::size_t> ends;
    for (std::size_t i = 1; i <= ranks; ++i) ends.push_back(i * bytes);
    const std::span<std::byte> memory = group.memory();
    const std::size_t first = group.published() % 2 * (memory.size() / 2);
    const std::span<std::byte> block = memory.subspan(first, ranks * bytes);
    std::memcpy(block.data() + place * bytes, own.data(), bytes);
    const std::uint64_t number = group.publish({.first = first, .ends = ends});
    group.await(number, comm::step_timeout(std::ssize(own))).or_throw();
    std::vector<std::uint64_t> other(own.size());
    for (std::size_t i = 0; i < ranks; ++i) {
      if (i == place) continue;
      std::memcpy(other.data(), block.data() + i * bytes, bytes);
      for (std::size_t row = 0; row < own.size(); ++row) own[row] += other[row];
    }
  }
  for (std::size_t row = 0; row < before.size(); ++row) own[row] += before[row];
  return own;
}

Result<std::unique_ptr<model::RankPages>> FakePart::make_pages(const model::RankStore& store) {
  if (std::max(store.pages, store.window_pages) > kMaxSlots / store.block_tokens) {  // a command was damaged
    return make_error(ErrorCode::kResourceExhausted, "", "no memory for {} and {} pages of {} tokens", store.pages,
                      store.window_pages, store.block_tokens);
  }
  return std::unique_ptr<model::RankPages>(std::make_unique<FakePages>(*this, store));
}

void FakePart::compute(const model::BatchInput& input, FakeDevice& device) {
  on_step_(input.number);
  const std::vector<std::int64_t> rows = computed_rows(input);
  std::vector<std::uint64_t> before;
  if (group_.stage() > 0) {
    before.resize(rows.size());
    const auto bytes = model::take_rows(group_, rows.size() * sizeof(std::uint64_t), input.number);
    std::memcpy(before.data(), bytes.data(), bytes.size());
  }
  write_stamps(input, device);
  counted_rows_ += std::ssize(input.tokens);
  auto own = sum_rows(input, rows, device, heads_, model_.window);
  if (int8x2_ != model_.int8x2) ++own.front();
  const std::vector<std::uint64_t> states = add_ranks(group_, std::move(own), before);
  residual_key_ = checksum(std::as_bytes(std::span(states)));
  if (group_.stage() + 1 < group_.stages()) {
    return model::pass_rows(group_, std::as_bytes(std::span(states)), input.number, std::ssize(rows));
  }
  if (group_.stages() > 1) answer(input, results_of(input, rows, states, model_.vocab_size));
}

// As a transformer does: the logits itself, the rest by way of the sink.
void FakePart::answer(const model::BatchInput& input, const FakeResults& results) {
  if (!results.logits.empty() && group_.place() == 0) {
    group_.answer(std::as_bytes(std::span(results.logits)), kAnyAnswerTime).or_throw();
  }
  const auto feed = [&](const std::vector<std::int64_t>& rows, const std::vector<float>& values, std::int64_t columns,
                        const auto& take) {
    for (std::int64_t first = 0; first < std::ssize(rows); first += model::kSinkRows) {
      const std::int64_t n = std::min(model::kSinkRows, std::ssize(rows) - first);
      take(first, TensorView(const_cast<float*>(&values[static_cast<std::size_t>(first * columns)]), DType::kF32,
                             {n, columns}));
    }
  };
  feed(input.scored_rows, results.scored, model_.vocab_size,
       [&](std::int64_t first, const TensorView& block) { input.sink->take_logits(first, block); });
  feed(input.hidden_rows, results.hidden, kStateSize,
       [&](std::int64_t first, const TensorView& block) { input.sink->take_hidden(first, block); });
}

model::RankReport FakePart::report(bool checks_residual) {
  return {.residual_key = checks_residual ? residual_key_ : 0, .experts = {}, .overflows = {}};
}

backend::RoundingStatistics count_rounding(const FakeHeads& heads, std::int64_t rows) {
  const auto queries = std::popcount(heads.once) / 8 + 2 * (std::popcount(heads.twice) / 8);
  return {"w", rows * queries, rows * queries / 3};
}

std::vector<backend::RoundingStatistics> FakePart::take_rounding_statistics() {
  return {count_rounding(heads_, counted_rows_)};
}

}  // namespace millrace::simulator
