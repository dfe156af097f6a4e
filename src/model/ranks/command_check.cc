#include "model/ranks/command_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "backend/device_kind.h"
#include "base/error.h"

namespace millrace::model {
namespace {

constexpr std::size_t kMaxStores = 64;
constexpr std::size_t kMaxExceptions = 4096;
constexpr std::int64_t kMaxLength = std::int64_t{1} << 31;  // of what positions are rotated for
constexpr std::int64_t kMaxAdapterRank = std::int64_t{1} << 20;

void check_range(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return;
  refuse_command(high < low ? fmt::format("{} has {}: must have nothing", field, value)
                            : fmt::format("{} has {}: must be from {} to {}", field, value, low, high));
}

template <typename T>
void check_all(std::string_view field, std::span<const T> values, std::int64_t low, std::int64_t high) {
  for (const T value : values) check_range(field, value, low, high);
}

void check_ascending(std::string_view field, std::span<const std::int64_t> values, std::int64_t end) {
  check_all(field, values, 0, end - 1);
  const auto at = std::ranges::adjacent_find(values, std::greater_equal());
  if (at != values.end()) refuse_command(fmt::format("{} has {} before {}: must ascend", field, at[0], at[1]));
}

// The pages of a sequence that its rows see, of all that its list has.
void check_pages(std::string_view field, const RankStep::Sequence& rows, std::span<const std::int32_t> pages,
                 std::int64_t window, std::int64_t block_tokens, std::int64_t store_pages) {
  const std::int64_t end = (rows.first_position + rows.n_rows + block_tokens - 1) / block_tokens;
  if (std::ssize(pages) < end) {
    refuse_command(fmt::format("{} are {} for {} tokens: must be at least {}", field, pages.size(),
                               rows.first_position + rows.n_rows, end));
  }
  const std::int64_t seen = window == 0 ? 0 : std::max<std::int64_t>(0, rows.first_position - window + 1);
  const std::int64_t first = seen / block_tokens;
  check_all(field, pages.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)), 0,
            store_pages - 1);
}

void check_sequences(const RankStep& step, const StepLimits& limits) {
  std::span<const std::int32_t> left = step.pages;
  const auto take = [&](std::string_view field, std::int64_t n) {
    check_range(field, n, 0, std::ssize(left));
    const auto taken = left.first(static_cast<std::size_t>(n));
    left = left.subspan(taken.size());
    return taken;
  };
  std::int64_t row = 0;
  for (const RankStep::Sequence& rows : step.sequences) {
    check_range("first_row", rows.first_row, row, row);
    check_range("n_rows", rows.n_rows, 1, std::ssize(step.tokens) - row);
    check_range("first_position", rows.first_position, 0, limits.positions - rows.n_rows);
    row += rows.n_rows;
    check_pages("pages", rows, take("number of pages", rows.pages), 0, limits.block_tokens, limits.pages);
    const auto windows = take("number of window pages", rows.window_pages);
    if (limits.window_pages == 0) continue;
    check_pages("window pages", rows, windows, limits.window, limits.block_tokens, limits.window_pages);
  }
  check_range("rows of all sequences", row, std::ssize(step.tokens), std::ssize(step.tokens));
  check_range("pages of no sequence", std::ssize(left), 0, 0);
}

void check_adapter(AdapterType type, std::int64_t max_rank) {
  check_range("type of an adapter", static_cast<std::int64_t>(type), static_cast<std::int64_t>(AdapterType::kAuto),
              static_cast<std::int64_t>(AdapterType::kInt8));
  check_range("max_rank", max_rank, 0, kMaxAdapterRank);
}

}  // namespace

void refuse_command(std::string_view what) {
  throw_load_error(ErrorCode::kBadFile, "", "rank 0 sends a command that cannot be: {}", what);
}

void check_command(const RankStep& step, const StepLimits& limits) {
  const std::int64_t rows = std::ssize(step.tokens);
  check_range("number of rows", rows, 1, limits.pages * limits.block_tokens);
  check_all<std::int32_t>("tokens", step.tokens, 0, limits.vocabulary - 1);
  if (limits.window_pages > 0 && !step.has_windows) refuse_command("a step without window pages");
  check_sequences(step, limits);
  if (!step.rope_lengths.empty()) {
    const std::int64_t sequences = std::ssize(step.sequences);
    check_range("number of rope_lengths", std::ssize(step.rope_lengths), sequences, sequences);
  }
  check_all<std::int64_t>("rope_lengths", step.rope_lengths, 0, kMaxLength);
  check_ascending("logit_rows", step.logit_rows, rows);
  check_ascending("scored_rows", step.scored_rows, rows);
  check_ascending("hidden_rows", step.hidden_rows, rows);
  check_ascending("layers", step.layers, limits.layers);
  check_ascending("state_layers", step.state_layers, limits.stages == 1 ? 0 : limits.layers + 1);
  for (const RankStep::Adapter& adapter : step.adapters) {
    check_range("first_row of an adapter", adapter.first_row, 0, rows - 1);
    check_range("n_rows of an adapter", adapter.n_rows, 1, rows - adapter.first_row);
    if (!std::isfinite(adapter.scale)) refuse_command(fmt::format("scale of an adapter is {}", adapter.scale));
  }
}

void check_command(const RankStore& store, std::size_t stores) {
  check_range("number of stores", static_cast<std::int64_t>(stores) + 1, 1, kMaxStores);
  check_range("block_tokens", store.block_tokens, 1, backend::kMaxBlockTokens);
  check_range("pages of a store", store.pages, 1, std::numeric_limits<std::int32_t>::max());
  check_range("window pages of a store", store.window_pages, 0, std::numeric_limits<std::int32_t>::max());
  check_range("number of exceptions", std::ssize(store.exceptions), 0, kMaxExceptions);
}

void check_command(const RankGiveBack& command, std::int64_t pages) {
  check_range("parts", command.parts, 1, std::numeric_limits<std::int32_t>::max());
  check_range("first_part", command.first_part, 0, command.parts);
  check_range("end_part", command.end_part, command.first_part, command.parts);
  check_all<std::int32_t>("kept", command.kept, 0, pages);
  const auto at = std::ranges::adjacent_find(command.kept, std::greater_equal());
  if (at != command.kept.end()) refuse_command(fmt::format("kept has {} before {}: must ascend", at[0], at[1]));
}

void check_command(const RankAdapter& adapter) { check_adapter(adapter.type, adapter.max_rank); }

void check_command(const RankAdapterAhead& adapter) { check_adapter(adapter.type, adapter.max_rank); }

}  // namespace millrace::model
