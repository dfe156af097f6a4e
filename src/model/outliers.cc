#include "model/outliers.h"

#include "base/log.h"
#include "kv/block_table.h"
#include "kv/kv_store.h"

namespace millrace::model {

std::vector<std::string> find_outlier_weights(Transformer& model, std::span<const std::int32_t> tokens) {
  const kv::KvGroups groups = model.kv_groups({.encoding = "f32"});
  const auto n = static_cast<std::int64_t>(tokens.size());
  const auto n_pages = static_cast<std::int32_t>((n + groups.block_tokens - 1) / groups.block_tokens);
  const kv::KvStore store = model.make_store({.encoding = "f32"}, n_pages).or_throw();
  std::vector<std::int32_t> pages;
  for (std::int32_t p = 0; p < n_pages; ++p) pages.push_back(p);

  BatchInput input;
  input.tokens.assign(tokens.begin(), tokens.end());
  input.sequences.push_back({.first_row = 0, .n_rows = n, .first_position = 0, .pages = pages});
  input.logit_rows = {n - 1};

  model.start_rounding_statistics();
  model.forward(input, store);
  std::vector<std::string> out;
  for (backend::RoundingStatistics& statistics : model.take_rounding_statistics()) {
    const double share =
        static_cast<double>(statistics.moved) / static_cast<double>(std::max<std::int64_t>(1, statistics.outputs));
    log::debug("{}: int8 activations move {:.1f} % of its outputs", statistics.weight, 100.0 * share);
    if (share > kMaxMoved) out.push_back(std::move(statistics.weight));
  }
  return out;
}

}  // namespace millrace::model
