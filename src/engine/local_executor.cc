#include "engine/local_executor.h"

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "engine/used_adapters.h"
#include "kv/paged_cache.h"
#include "model/ranks/rank_leader.h"

namespace millrace::engine {

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::create(model::Transformer& model, backend::Backend& backend,
                                                             const backend::KvFormat& kv_pages,
                                                             std::int64_t kv_cache_tokens, int depth,
                                                             std::int32_t window_pages) {
  const kv::KvGroups groups = model.kv_groups(kv_pages);
  if (auto checked = backend.check_kv_format(kv_pages); !checked) return checked.error();
  if (kv_pages.exceptions != nullptr) {
    for (const backend::KvException& exception : *kv_pages.exceptions) {
      if (exception.last < groups.layers()) continue;
      return make_error(ErrorCode::kInvalidArgument, "kv-exceptions",
                        "kv-exceptions names layer {}: the model has {} layers that keep keys and values",
                        exception.last, groups.layers());
    }
  }
  const std::int64_t tokens = kv_cache_tokens > 0 ? kv_cache_tokens : model.max_length();
  const std::int64_t pages = (tokens + groups.block_tokens - 1) / groups.block_tokens;
  if (pages > std::numeric_limits<std::int32_t>::max()) {
    return make_error(ErrorCode::kInvalidArgument, "kv-cache-tokens", "kv-cache-tokens is {}: too many", tokens);
  }
  const auto n_pages = static_cast<std::int32_t>(pages);
  const std::int32_t least = std::min(n_pages, kv::min_window_pages(groups.window(), groups.block_tokens));
  auto store = model.make_store(kv_pages, n_pages, window_pages > 0 ? std::max(window_pages, least) : n_pages);
  if (!store) return store.error();
  return std::unique_ptr<LocalExecutor>(new LocalExecutor(model, backend, std::move(*store), n_pages, groups.window(),
                                                          model.part().stages() > 1 ? 1 : depth));
}

void LocalExecutor::launch(StepInput input) {
  launched_.push_back(std::make_unique<Launched>(depth() > 1 ? StepInput(input) : std::move(input)));
  if (model_.part().stages() == 1) return;
  Launched& launched = *launched_.back();
  try {
    make_batch(launched);
    model_.begin(launched.batch, store_);
  } catch (const LoadError& failure) {
    launched.failure = fail(failure.error());
  }
}

Result<StepResult> LocalExecutor::wait() {
  const std::unique_ptr<Launched> launched = std::move(launched_.front());
  launched_.pop_front();
  if (launched->failure) return *launched->failure;
  fed_.fill(launched->step);
  const std::size_t sampled = launched->step.sampled_rows.size();
  try {
    StepResult result = finish(*launched);
    fed_.keep(result.sampled);
    return result;
  } catch (const LoadError& failure) {
    fed_.keep(std::vector<std::optional<std::int32_t>>(sampled));
    return fail(failure.error());
  }
}

// Of what was recorded nothing stays behind for the next step. Where ranks are gone, so are the steps in flight.
Error LocalExecutor::fail(const Error& why) {
  if (why.code == ErrorCode::kUnavailable) {
    for (const auto& launched : launched_) launched->failure = why;
  }
  try {
    backend_.synchronize();
  } catch (const LoadError& same) {
    log::debug("{}", same.what());
  }
  return why;
}

Result<void> LocalExecutor::recover() {
  if (!recovery_ || !launched_.empty()) return Executor::recover();
  try {
    recovery_();
    return {};
  } catch (const LoadError& failure) {
    return failure.error();
  }
}

void LocalExecutor::make_batch(Launched& launched) {
  StepInput& step = launched.step;
  launched.sink = std::make_unique<StepSink>(step, launched.result);
  model::BatchInput& input = launched.batch;
  input.tokens = std::move(step.tokens);
  input.logit_rows = std::move(step.logit_rows);
  if (drafter() != nullptr) input.hook = drafter()->hook();
  for (const StepInput::Rows& rows : step.sequences) {
    input.sequences.push_back({.first_row = rows.first_row,
                               .n_rows = rows.n_rows,
                               .first_position = rows.first_position,
                               .pages = rows.pages});
    input.rope_lengths.push_back(rows.rope_length);
    if (!rows.adapters.empty()) add_adapters(rows, input);
    if (store_.windowed() != nullptr) input.window_pages.push_back(rows.window_pages);
  }
  input.scored_rows = launched.sink->logit_rows();
  input.hidden_rows = std::move(step.hidden_rows);
  if (!input.scored_rows.empty() || !input.hidden_rows.empty()) input.sink = launched.sink.get();
}

StepResult LocalExecutor::finish(Launched& launched) {
  StepResult& result = launched.result;
  if (model_.part().stages() > 1) {
    result.logits = model_.finish(launched.batch);
  } else {
    make_batch(launched);
    result.logits = model_.forward(launched.batch, store_);
  }
  result.experts = model_.notes().experts;
  result.weight_rounds = model_.notes().weight_rounds;
  if (model_.leader() != nullptr) result.ranks = model_.leader()->times();
  result.kv_overflows = model_.take_kv_overflows();
  return std::move(result);
}

std::unique_ptr<model::AdapterClaim> LocalExecutor::claim(const std::vector<AdapterUse>& adapters) const {
  return store_of_adapters_ == nullptr ? nullptr : claim_adapters(store_of_adapters_, adapters);
}

std::shared_ptr<const model::Adapter> LocalExecutor::adapter(const AdapterUse& use) const {
  if (adapters_ == nullptr) return nullptr;
  const bool known = use.adapter != nullptr && adapters_->of_id(use.adapter->id()) != nullptr;
  return known ? use.adapter : adapters_->of_key(use.key);
}

Result<void> LocalExecutor::share(const model::Adapter& adapter) {
  return model_.leader() == nullptr ? Result<void>{} : model_.leader()->try_share(adapter);
}

// Rows of neighbours with the same adapter are one range.
void LocalExecutor::add_adapters(const StepInput::Rows& rows, model::BatchInput& input) const {
  for (std::size_t i = 0; i < kMaxAdapters && rows.adapters.ids[i] != 0; ++i) {
    const model::Adapter* adapter = adapters_ == nullptr ? nullptr : adapters_->of_id(rows.adapters.ids[i]);
    CHECK(adapter != nullptr);  // its request keeps it
    const float scale = rows.adapters.scales[i];
    const std::int64_t skipped = rows.adapters.firsts[i] - rows.first_position;  // rows before its first
    if (skipped >= rows.n_rows) continue;
    const std::int64_t first_row = rows.first_row + std::max<std::int64_t>(skipped, 0);
    const std::int64_t n_rows = rows.first_row + rows.n_rows - first_row;
    if (rows.adapters.ids[1] == 0 && !input.adapters.empty()) {
      model::AdapterRange& last = input.adapters.back();
      const bool follows = last.first_row + last.n_rows == first_row;
      if (follows && last.adapter == adapter && last.scale == scale) {
        last.n_rows += n_rows;
        continue;
      }
    }
    input.adapters.push_back({first_row, n_rows, adapter, scale});
  }
}

void LocalExecutor::set_drafter(std::unique_ptr<draft::Drafter> drafter) {
  followed_.follow(drafter == nullptr ? nullptr : drafter->listener());
  Executor::set_drafter(std::move(drafter));
}

}  // namespace millrace::engine
