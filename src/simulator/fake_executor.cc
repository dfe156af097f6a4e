#include "simulator/fake_executor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "engine/step_sink.h"
#include "engine/used_adapters.h"

namespace millrace::simulator {
namespace {

constexpr int kManyLosses = 1000;  // more than in a row may be

}  // namespace

sched::StepWork work_of(const engine::StepInput& input) noexcept {
  sched::StepWork work;
  for (const engine::StepInput::Rows& rows : input.sequences) work.add(rows.n_rows, rows.first_position);
  work.samples = std::ssize(input.logit_rows) + std::ssize(input.sampled_rows);
  return work;
}

FakeExecutor::FakeExecutor(const Config& config, OnStep on_step, std::unique_ptr<FakeRanks> ranks)
    : config_(config),
      on_step_(std::move(on_step)),
      ranks_(std::move(ranks)),
      device_(config.pages, config.block_tokens, config.companion_key, config.window > 0 ? config.window_pages : 0),
      all_heads_(heads_of_ranks({}).front()),
      fed_(config.depth) {
  if (ranks_) ranks_->begin_with(device_);
}

std::shared_ptr<const model::Adapter> FakeExecutor::adapter(const engine::AdapterUse& use) const {
  if (adapters_ == nullptr) return nullptr;
  const bool known = use.adapter != nullptr && adapters_->set()->of_id(use.adapter->id()) != nullptr;
  return known ? use.adapter : adapters_->set()->of_key(use.key);
}

std::unique_ptr<model::AdapterClaim> FakeExecutor::claim(const std::vector<engine::AdapterUse>& adapters) const {
  return adapters_ == nullptr ? nullptr : engine::claim_adapters(adapters_, adapters);
}

Result<void> FakeExecutor::share(const model::Adapter& adapter) {
  return ranks_ ? ranks_->share(adapter) : Result<void>();
}

void FakeExecutor::launch(engine::StepInput input) {
  CHECK_LT(static_cast<int>(launched_.size()), config_.depth);
  check_written_by_one(input, false);
  if (config_.window > 0) check_written_by_one(input, true);
  launched_.push_back(std::make_unique<Launched>(input));
  if (ranks_ == nullptr || ranks_->stages() == 1) return;
  Launched& launched = *launched_.back();
  try {
    make_batch(launched);
    ranks_->begin(launched.batch);
  } catch (const LoadError& failure) {
    launched.failure = fail(failure.error());
  }
}

// Where ranks are gone, so are the steps in flight.
Error FakeExecutor::fail(const Error& why) {
  for (const auto& launched : launched_) launched->failure = why;
  ++losses_;
  ranks_->check_loss(why);
  return why;
}

Result<void> FakeExecutor::recover() {
  if (ranks_ == nullptr || !launched_.empty()) return Executor::recover();
  try {
    ranks_->recover();
    return {};
  } catch (const LoadError& failure) {
    losses_ += kManyLosses;
    return failure.error();
  }
}

// As LocalExecutor makes it.
void FakeExecutor::make_batch(Launched& launched) const {
  const engine::StepInput& step = launched.step;
  model::BatchInput& batch = launched.batch;
  engine::StepResult unused;
  batch.tokens = step.tokens;
  batch.logit_rows = step.logit_rows;
  batch.hidden_rows = step.hidden_rows;
  batch.scored_rows = engine::StepSink(step, unused).logit_rows();
  for (const engine::StepInput::Rows& rows : step.sequences) {
    batch.sequences.push_back({rows.first_row, rows.n_rows, rows.first_position, rows.pages});
    if (config_.window > 0) batch.window_pages.push_back(rows.window_pages);
    for (std::size_t i = 0; i < rows.adapters.ids.size() && rows.adapters.ids[i] != 0; ++i) {
      const model::Adapter* adapter = adapters_->set()->of_id(rows.adapters.ids[i]);
      CHECK(adapter != nullptr);  // its request keeps it
      batch.adapters.push_back({rows.first_row, rows.n_rows, adapter, rows.adapters.scales[i]});
    }
  }
}

FakeResults FakeExecutor::compute(Launched& launched) {
  const bool has_begun = ranks_ != nullptr && ranks_->stages() > 1;
  if (!has_begun) make_batch(launched);
  if (ranks_ != nullptr) {
    if (!has_begun) ranks_->begin(launched.batch);
    return ranks_->finish(launched.batch);
  }
  const std::vector<std::int64_t> rows = computed_rows(launched.batch);
  write_stamps(launched.batch, device_);
  const auto states = sum_rows(launched.batch, rows, device_, all_heads_, config_.window);
  return results_of(launched.batch, rows, states, config_.vocab_size);
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
    const std::int64_t seen =
        windowed ? std::max<std::int64_t>(0, rows.first_position - config_.window + 1) / config_.block_tokens : 0;
    for (const kv::BlockId page : pages.subspan(static_cast<std::size_t>(seen))) {
      const std::int32_t writer = writer_[static_cast<std::size_t>(page)];
      CHECK(writer == kNobody || writer == s);
    }
  }
}

// What the sequence's rows from `first` on wrote.
void FakeExecutor::spoil(const engine::StepInput& input, std::size_t sequence, std::int64_t first) {
  const engine::StepInput::Rows& rows = input.sequences[sequence];
  for (std::int64_t i = first; i < rows.n_rows; ++i) {
    device_.spoil_at(rows.pages, rows.first_position + i);
    if (config_.window > 0) device_.windowed()->spoil_at(rows.window_pages, rows.first_position + i);
  }
}

// Logits of the logit rows and of the sampled ones, which on_step may spoil. `scored`: the rows of results.scored.
void FakeExecutor::gather(const engine::StepInput& input, const FakeResults& results,
                          std::span<const std::int64_t> scored) {
  const auto vocabulary = static_cast<std::ptrdiff_t>(config_.vocab_size);
  logits_ = results.logits;
  for (const engine::StepInput::Sampled& sampled : input.sampled_rows) {
    const auto row =
        results.scored.begin() + (std::ranges::lower_bound(scored, sampled.row) - scored.begin()) * vocabulary;
    logits_.insert(logits_.end(), row, row + vocabulary);
  }
}

void FakeExecutor::feed(const engine::StepInput& input, FakeResults& results, engine::StepResult& result) {
  engine::StepSink sink(input, result);
  const auto view = [](std::vector<float>& values, std::int64_t columns) {
    return TensorView(values.data(), DType::kF32, {std::ssize(values) / columns, columns});
  };
  const std::vector<std::int64_t> rows = sink.logit_rows();
  const auto vocabulary = static_cast<std::size_t>(config_.vocab_size);
  auto from = logits_.begin() + static_cast<std::ptrdiff_t>(input.logit_rows.size() * vocabulary);
  for (const engine::StepInput::Sampled& sampled : input.sampled_rows) {
    const auto i = static_cast<std::size_t>(std::ranges::lower_bound(rows, sampled.row) - rows.begin());
    std::copy_n(from, vocabulary, results.scored.begin() + static_cast<std::ptrdiff_t>(i * vocabulary));
    from += static_cast<std::ptrdiff_t>(vocabulary);
  }
  if (!rows.empty()) sink.take_logits(0, view(results.scored, config_.vocab_size));
  if (!input.hidden_rows.empty()) sink.take_hidden(0, view(results.hidden, kStateSize));
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
  const std::unique_ptr<Launched> launched = std::move(launched_.front());
  launched_.pop_front();
  if (launched->failure) return *launched->failure;
  engine::StepInput& input = launched->step;
  fed_.fill(input);
  std::vector<std::int64_t> sampled_rows;
  for (const engine::StepInput::Sampled& sampled : input.sampled_rows) sampled_rows.push_back(sampled.row);
  const auto fail_step = [&](const Error& why) {
    fed_.keep(std::vector<std::optional<std::int32_t>>(sampled_rows.size()));
    return why;
  };
  FakeResults results;
  try {
    results = compute(*launched);
  } catch (const LoadError& failure) {
    return fail_step(fail(failure.error()));
  }
  gather(input, results, launched->batch.scored_rows);
  if (auto ran = on_step_(input, logits_); !ran) {
    for (std::size_t s = 0; s < input.sequences.size(); ++s) spoil(input, s, 0);
    return fail_step(ran.error());
  }
  losses_ = 0;
  engine::StepResult result;
  feed(input, results, result);
  fed_.keep(result.sampled);
  const std::span logits = std::span(logits_).first(results.logits.size());
  spoil_broken_rows(input, input.logit_rows, logits);
  spoil_broken_rows(input, sampled_rows, std::span(logits_).subspan(logits.size()));
  result.logits =
      TensorView(logits_.data(), DType::kF32, {static_cast<std::int64_t>(input.logit_rows.size()), config_.vocab_size});
  return result;
}

}  // namespace millrace::simulator
