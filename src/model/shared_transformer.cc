// What of a Transformer is for ranks that share it: their parts of the vocabulary, stores of all of them, and what
// loading counts and decides, and what goes from stage to stage.

#include "base/check.h"
#include "base/checksum.h"
#include "model/ranks/rank_counts.h"
#include "model/ranks/rank_leader.h"
#include "model/transformer.h"
#include "model/transformer_workspace.h"
#include "model/weight_loader.h"

namespace millrace::model {

backend::WeightSource head_source(WeightLoader& loader, const ModelSpec& spec) {
  const std::string name = spec.names.head + ".weight";
  const std::int64_t width = spec.embedding_width();
  return spec.unit_head ? WeightLoader::with_unit_rows(loader.linear(name, spec.vocab_size, width))
                        : loader.outer(name, spec.vocab_size, width);
}

void Transformer::hold_vocabulary(const checkpoint::Checkpoint& checkpoint) {
  if (!shards_.is_shared() || held_.embedding != nullptr) return;
  if (project_in_ != nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tensor-parallel-size",
                     "tensor-parallel-size is {}: speculators do not work with ranks of a model whose embeddings have "
                     "another size than its layers",
                     backend_.ranks());
  }
  WeightLoader loader(checkpoint, spec_, quantization_);
  const WeightNames& names = spec_.names;
  if (!spec_.tied_head) held_.head = backend_.make_linear({head_source(loader, spec_)}, precision_);
  if (loader.has(names.head + ".bias")) {
    held_.head_bias = backend_.make_vector(loader.vector(names.head + ".bias", spec_.vocab_size));
  }
  held_.embedding = backend_.make_linear(
      {loader.outer(names.embedding + ".weight", spec_.vocab_size, spec_.embedding_width())}, precision_);
}

kv::KvGroups Transformer::kv_groups(const backend::KvFormat& form, std::optional<int> rank) const {
  return kv::group_layers(
      shards_.is_shared() ? shards_.shards->kv_needs(spec_, rank.value_or(shards_.rank)) : kv_needs(spec_), form);
}

Result<kv::KvStore> Transformer::make_store(const backend::KvFormat& form, std::int32_t pages,
                                            std::int32_t window_pages) {
  auto store = kv::KvStore::create(backend_, kv_groups(form), pages, window_pages);
  if (leader_ == nullptr) return store;
  RankStoreMade made;
  if (store) made = {true, store->page_bytes(), store->windowed() ? store->windowed()->page_bytes() : 0};
  RankStore command{.encoding = std::string(form.encoding),
                    .layout = std::string(form.layout),
                    .block_tokens = form.block_tokens,
                    .exceptions = {},
                    .pages = pages,
                    .window_pages = window_pages};
  if (form.exceptions != nullptr) {
    for (const backend::KvException& e : *form.exceptions) {
      command.exceptions.push_back({e.first, e.last, std::string(e.encoding)});
    }
  }
  auto others = leader_->make_store(std::move(command), made);
  if (!store) return store;
  if (!others) return others.error();
  store->share(std::move(*others));
  return store;
}

RowRange Transformer::vocabulary_rows() const noexcept {
  if (!vocabulary_.are_shared()) return {0, spec_.vocab_size};
  const auto rank = static_cast<std::size_t>(shards_.shards->place(shards_.rank));
  return {vocabulary_.borders()[rank], vocabulary_.borders()[rank + 1]};
}

void Transformer::set_int8x2(std::span<const std::string> weights) {
  if (leader_ != nullptr) leader_->set_int8x2({weights.begin(), weights.end()});
  for (backend::Linear* linear : linears()) {
    for (const std::string& weight : weights) linear->set_int8x2(weight);
  }
}

void Transformer::start_rounding_statistics() {
  if (leader_ != nullptr) leader_->send(RankStatistics{.start = true});
  for (backend::Linear* linear : linears()) linear->start_rounding_statistics();
}

std::vector<backend::RoundingStatistics> Transformer::take_rounding_statistics() {
  std::vector<backend::RoundingStatistics> all;
  for (backend::Linear* linear : linears()) {
    for (backend::RoundingStatistics& of_weight : linear->take_rounding_statistics())
      all.push_back(std::move(of_weight));
  }
  if (leader_ == nullptr) return all;
  add_counts(all, leader_->take_statistics());
  return all;
}

std::uint64_t key_of_rows(backend::Backend& backend, const backend::DeviceView& rows) {
  const backend::HostView values = backend.host_view(rows);
  std::uint64_t key = 0;
  for (std::int64_t t = 0; t < rows.rows(); ++t) {
    key = checksum(std::as_bytes(std::span(values.view().row(t), static_cast<std::size_t>(rows.cols()))), key);
  }
  return key;
}

RankReport Transformer::report(bool checks_residual) {
  RankReport report{.weight_rounds = notes_.weight_rounds, .damage = walk_->damage(), .experts = {}, .overflows = {}};
  // All of a stage touch the same experts, and each reads its part of them.
  if (shards_.shards->place(shards_.rank) == 0) report.experts = notes_.experts;
  report.experts.bytes = notes_.experts.bytes;
  if (checks_residual) report.residual_key = key_of_rows(backend_, workspace_->layer.residual);
  for (const backend::KvOverflow& o : backend_.take_kv_overflows()) {
    const std::int64_t head = o.head + shards_.shards->first_key_head(spec_, o.layer, shards_.rank);
    report.overflows.push_back({o.layer, head, o.position, o.page, o.of_key, o.value, std::string(o.encoding)});
  }
  return report;
}

std::vector<backend::KvOverflow> Transformer::take_kv_overflows() {
  std::vector<backend::KvOverflow> all = backend_.take_kv_overflows();
  all.insert(all.end(), overflows_.begin(), overflows_.end());
  overflows_.clear();
  return all;
}

}  // namespace millrace::model
