#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/low_rank.h"

namespace millrace::backend {

// Forwards every call to another backend. A base for backends that observe or change some of the calls.
class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::string description() const override { return inner_->description(); }
  int threads() const noexcept override { return inner_->threads(); }
  Limits limits() const noexcept override { return inner_->limits(); }
  Result<DeviceBuffer> allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void upload(std::span<const std::byte> from, DeviceAddress to) override { inner_->upload(from, to); }
  void download(DeviceAddress from, std::span<std::byte> out) override { inner_->download(from, out); }
  void copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) override { inner_->copy(from, to, bytes); }
  HostView host_view(const DeviceView& results) override { return inner_->host_view(results); }
  std::size_t kv_page_bytes(const KvFormat& format) const noexcept override { return inner_->kv_page_bytes(format); }
  Result<void> check_kv_format(const KvFormat& format) const override { return inner_->check_kv_format(format); }
  std::vector<KvOverflow> take_kv_overflows() override { return inner_->take_kv_overflows(); }
  std::unique_ptr<Linear> make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) override {
    return inner_->make_linear(std::move(sources), precision);
  }
  std::vector<std::unique_ptr<LowRank>> make_low_ranks(std::vector<LowRankSource> sources,
                                                       MatmulPrecision precision) override {
    return inner_->make_low_ranks(std::move(sources), precision);
  }
  std::unique_ptr<LowRank> make_row_delta(RowDeltaSource source) override {
    return inner_->make_row_delta(std::move(source));
  }
  void finish_loading() override { inner_->finish_loading(); }
  std::size_t packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                           MatmulPrecision precision) const override {
    return inner_->packed_bytes(format, rows, cols, precision);
  }
  std::size_t workspace_bytes(std::int64_t rows, std::int64_t hidden, std::int64_t ffn,
                              std::int64_t routed) const noexcept override {
    return inner_->workspace_bytes(rows, hidden, ffn, routed);
  }
  void gather(const Linear& weight, std::span<const std::int32_t> ids, const GatherOptions& options,
              DeviceView out) override {
    inner_->gather(weight, ids, options, out);
  }
  void norm(const Norm& norm, std::span<const std::int64_t> rows, DeviceView x, DeviceView out) override {
    inner_->norm(norm, rows, x, out);
  }
  void linear(const Linear& weight, const LinearOptions& options, DeviceView x, DeviceView out) override {
    inner_->linear(weight, options, x, out);
  }
  void project_attention(const AttentionInputs& inputs, DeviceView x, DeviceView qkv) override {
    inner_->project_attention(inputs, x, qkv);
  }
  void attend(const AttendArgs& args, DeviceView out) override { inner_->attend(args, out); }
  void mlp(const Mlp& mlp, DeviceView x, DeviceView out) override { inner_->mlp(mlp, x, out); }
  void route(const RouteArgs& args, DeviceView logits, DeviceView routes) override {
    inner_->route(args, logits, routes);
  }
  void experts(const Experts& experts, DeviceView x, DeviceView routes, DeviceView out) override {
    inner_->experts(experts, x, routes, out);
  }
  void activate(const ActivateArgs& args, DeviceView x, DeviceView out) override { inner_->activate(args, x, out); }
  void add(const AddOptions& options, DeviceView x, DeviceView out) override { inner_->add(options, x, out); }
  void scale(const ScaleOptions& options, DeviceView x) override { inner_->scale(options, x); }
  void gate(GateFunction f, DeviceView gate, DeviceView x) override { inner_->gate(f, gate, x); }
  void rotary_table(std::span<const std::int32_t> positions, const RotaryAngles& angles, DeviceView out) override {
    inner_->rotary_table(positions, angles, out);
  }
  void position_scale(std::span<const std::int32_t> positions, const PositionScale& scale, DeviceView out) override {
    inner_->position_scale(positions, scale, out);
  }
  void load_rows(DeviceView table, std::span<const std::int64_t> slots, DeviceView out) override {
    inner_->load_rows(table, slots, out);
  }
  void store_rows(DeviceView x, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots,
                  DeviceView table) override {
    inner_->store_rows(x, rows, slots, table);
  }
  int ranks() const noexcept override { return inner_->ranks(); }
  int rank() const noexcept override { return inner_->rank(); }
  void exchange(const ExchangeArgs& args, DeviceView x) override { inner_->exchange(args, x); }
  void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) override {
    inner_->for_each(items, item);
  }
  void synchronize() override { inner_->synchronize(); }

 private:
  std::unique_ptr<Backend> inner_;
};

}  // namespace millrace::backend
