#include "simulator/fake_step.h"

#include <algorithm>

#include "base/check.h"
#include "model/adapters/adapter.h"

namespace millrace::simulator {
namespace {

// By row, what its adapters change of its stamp.
std::vector<std::uint64_t> adapters_of_rows(const model::BatchInput& input) {
  std::vector<std::uint64_t> stamps(input.tokens.size(), 0);
  for (const model::AdapterRange& range : input.adapters) {
    for (std::int64_t row = range.first_row; row < range.first_row + range.n_rows; ++row) {
      std::uint64_t& stamp = stamps[static_cast<std::size_t>(row)];
      stamp = add_adapter(stamp, range.adapter->key(), range.scale);
    }
  }
  return stamps;
}

std::vector<float> values_of(std::span<const std::int64_t> wanted, std::span<const std::int64_t> rows,
                             std::span<const std::uint64_t> states, std::int64_t columns) {
  const auto n = static_cast<std::size_t>(columns);
  std::vector<float> values(wanted.size() * n);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto at = std::ranges::lower_bound(rows, wanted[i]) - rows.begin();
    write_values(states[static_cast<std::size_t>(at)], std::span(values).subspan(i * n, n));
  }
  return values;
}

}  // namespace

std::vector<std::int64_t> computed_rows(const model::BatchInput& input) {
  std::vector<std::int64_t> rows;
  for (const auto* wanted : {&input.logit_rows, &input.scored_rows, &input.hidden_rows}) {
    rows.insert(rows.end(), wanted->begin(), wanted->end());
  }
  for (const backend::SequenceRows& sequence : input.sequences) {
    rows.push_back(sequence.first_row + sequence.n_rows - 1);
  }
  std::ranges::sort(rows);
  const auto twice = std::ranges::unique(rows);
  rows.erase(twice.begin(), twice.end());
  return rows;
}

void write_stamps(const model::BatchInput& input, FakeDevice& device) {
  const std::vector<std::uint64_t> adapters = adapters_of_rows(input);
  for (std::size_t s = 0; s < input.sequences.size(); ++s) {
    const backend::SequenceRows& rows = input.sequences[s];
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
      const auto row = static_cast<std::size_t>(rows.first_row + i);
      const std::int64_t position = rows.first_position + i;
      const Stamp stamp = stamp_of(input.tokens[row], position, adapters[row]);
      device.put(rows.pages, position, stamp);
      if (device.windowed() != nullptr) device.windowed()->put(input.window_pages[s], position, stamp);
    }
  }
}

std::vector<std::uint64_t> sum_rows(const model::BatchInput& input, std::span<const std::int64_t> rows,
                                    FakeDevice& device, const FakeHeads& heads, std::int64_t window) {
  const auto read = [&](Stamp stamp) { return (stamp & heads.once) + 2 * (stamp & heads.twice); };
  std::vector<std::uint64_t> sums(rows.size());
  std::size_t out = 0;
  for (std::size_t s = 0; s < input.sequences.size(); ++s) {
    const backend::SequenceRows& of = input.sequences[s];
    std::uint64_t sum = 0;
    for (std::int64_t done = 0; out < rows.size() && rows[out] < of.first_row + of.n_rows; ++out) {
      const std::int64_t end = of.first_position + rows[out] - of.first_row + 1;
      for (; done < end; ++done) sum += read(device.at(of.pages, done)) * weight_of(done);
      sums[out] = sum;
      for (std::int64_t p = std::max<std::int64_t>(0, end - window); window > 0 && p < end; ++p) {
        const Stamp seen = device.windowed()->at(input.window_pages[s], p);
        sums[out] += (read(seen) - read(device.at(of.pages, p))) * window_weight_of(p);  // 0 if both say the same
      }
    }
  }
  return sums;
}

FakeResults results_of(const model::BatchInput& input, std::span<const std::int64_t> rows,
                       std::span<const std::uint64_t> states, std::int64_t vocab_size) {
  return {.logits = values_of(input.logit_rows, rows, states, vocab_size),
          .scored = values_of(input.scored_rows, rows, states, vocab_size),
          .hidden = values_of(input.hidden_rows, rows, states, kStateSize)};
}

}  // namespace millrace::simulator
