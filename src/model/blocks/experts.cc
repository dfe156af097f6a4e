#include "model/blocks/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/block_loader.h"
#include "model/feed_forward.h"

namespace millrace::model {

ExpertNames gguf_expert_names() {
  return {.norm = "blk.{}.ffn_norm",
          .router = "blk.{}.ffn_gate_inp",
          .choice_bias = "",
          .gate = "blk.{}.ffn_gate_exps",
          .up = "blk.{}.ffn_up_exps",
          .down = "blk.{}.ffn_down_exps",
          .gate_up = "blk.{}.ffn_gate_up_exps",
          .stacked_down = "",
          .whole_stacks = false,
          .gate_up_bias = "",
          .stacked_down_bias = "",
          .shared_gate = "blk.{}.ffn_gate_shexp",
          .shared_up = "blk.{}.ffn_up_shexp",
          .shared_down = "blk.{}.ffn_down_shexp",
          .shared_gate_up = "",
          .shared_factor = ""};
}

ExpertNames llama_expert_names(const std::string& layer) {
  return {.norm = layer + "post_attention_layernorm",
          .router = layer + "mlp.gate",
          .choice_bias = "",
          .gate = layer + "mlp.experts.[].gate_proj",
          .up = layer + "mlp.experts.[].up_proj",
          .down = layer + "mlp.experts.[].down_proj",
          .gate_up = layer + "mlp.experts.gate_up_proj",
          .stacked_down = layer + "mlp.experts.down_proj",
          .whole_stacks = true,
          .gate_up_bias = "",
          .stacked_down_bias = "",
          .shared_gate = layer + "mlp.shared_experts.gate_proj",
          .shared_up = layer + "mlp.shared_experts.up_proj",
          .shared_down = layer + "mlp.shared_experts.down_proj",
          .shared_gate_up = "",
          .shared_factor = ""};
}

double expected_experts(const backend::Routing& routing, double rows) noexcept {
  const auto all = static_cast<double>(routing.experts);
  return all * (1.0 - std::pow(1.0 - static_cast<double>(routing.chosen) / all, rows));
}

namespace blocks {
namespace {

using backend::DeviceView;

const ExpertsParams& experts_of(const BlockSpec& block) { return block.as<ExpertsParams>(); }

BlockWeight router_weight(const ExpertsParams& e, const ModelSpec& spec, const HasTensor& has) {
  const bool other = !e.names.other_router.empty() && has(e.names.other_router);
  return {.role = "ffn_gate_inp",
          .name = other ? e.names.other_router : e.names.router,
          .rows = e.routing.experts,
          .cols = spec.hidden_size,
          .exact = true,
          .bias = e.router_bias ? BiasRule::kRequired : BiasRule::kNone};
}

BlockWeight of_experts(const ExpertsParams& e, std::string role, std::string name, std::int64_t rows,
                       std::int64_t cols) {
  return {.role = std::move(role),
          .name = std::move(name),
          .rows = rows,
          .cols = cols,
          .experts = e.routing.experts,
          .bias = e.biases ? BiasRule::kRequired : BiasRule::kNone};
}

bool has_stack(const std::string& name, const HasTensor& has) { return !name.empty() && has(name); }

std::vector<BlockWeight> expert_ups(const ExpertsParams& e, const ModelSpec& spec, const HasTensor& has) {
  std::vector<BlockWeight> all;
  if (e.gated) all.push_back(of_experts(e, "ffn_gate_exps", e.names.gate, e.width, spec.hidden_size));
  all.push_back(of_experts(e, "ffn_up_exps", e.names.up, e.width, spec.hidden_size));
  for (BlockWeight& weight : all) weight.axis = RowAxis::kHidden;
  if (!e.gated || !has_stack(e.names.gate_up, has)) return all;
  for (std::size_t part = 0; part < 2; ++part) {
    const auto at = static_cast<std::int64_t>(part);
    BlockWeight& weight = all[part];
    weight.name = e.names.gate_up;
    weight.whole_name = e.names.whole_stacks;
    weight.bias_name = e.names.gate_up_bias;
    weight.inputs_first = e.inputs_first;
    weight.slice =
        e.interleaved ? RowSlice{at, 1, 2, 2 * e.width} : RowSlice{at * e.width, e.width, e.width, 2 * e.width};
  }
  return all;
}

BlockWeight expert_down(const ExpertsParams& e, const ModelSpec& spec, const HasTensor& has) {
  BlockWeight weight = of_experts(e, "ffn_down_exps", e.names.down, spec.hidden_size, e.width);
  weight.axis = RowAxis::kResidual;
  if (!has_stack(e.names.stacked_down, has)) return weight;
  weight.name = e.names.stacked_down;
  weight.whole_name = e.names.whole_stacks;
  weight.bias_name = e.names.stacked_down_bias;
  weight.inputs_first = e.inputs_first;
  return weight;
}

std::vector<BlockWeight> shared_ups(const ExpertsParams& e, const ModelSpec& spec, const HasTensor& has) {
  std::vector<BlockWeight> all;
  const std::int64_t width = e.shared_width, cols = spec.hidden_size;
  if (e.gated)
    all.push_back(
        {.role = "ffn_gate_shexp", .name = e.names.shared_gate, .rows = width, .cols = cols, .axis = RowAxis::kHidden});
  all.push_back(
      {.role = "ffn_up_shexp", .name = e.names.shared_up, .rows = width, .cols = cols, .axis = RowAxis::kHidden});
  if (!e.gated || !has_stack(e.names.shared_gate_up, has)) return all;
  for (std::size_t part = 0; part < 2; ++part) {
    all[part].name = e.names.shared_gate_up;
    all[part].slice = {static_cast<std::int64_t>(part) * width, width, width, 2 * width};
  }
  return all;
}

BlockWeight shared_down(const ExpertsParams& e, const ModelSpec& spec) {
  return {.role = "ffn_down_shexp",
          .name = e.names.shared_down,
          .rows = spec.hidden_size,
          .cols = e.shared_width,
          .axis = RowAxis::kResidual};
}

BlockWeight shared_factor(const ExpertsParams& e, const ModelSpec& spec) {
  return {
      .role = "ffn_gate_inp_shexp", .name = e.names.shared_factor, .rows = 1, .cols = spec.hidden_size, .exact = true};
}

class Experts final : public Block {
 public:
  Experts(const ExpertsParams& params, BlockLoader& loader)
      : params_(params), norm_(loader.norm(params.names.norm, params.norm, loader.spec().hidden_size)) {
    const ModelSpec& spec = loader.spec();
    counts_.resize(static_cast<std::size_t>(params.routing.experts));
    census_ = loader.backend().make_vector(std::vector<float>(counts_.size()));
    const auto has = [&](const std::string& pattern) { return loader.has(pattern); };
    router_ = loader.product(router_weight(params, spec, has));
    const std::string& bias = params.names.choice_bias;
    if (!bias.empty()) choice_bias_ = loader.backend().make_vector(loader.values(bias, params.routing.experts));
    const std::vector<BlockWeight> ups = expert_ups(params, spec, has);
    const BlockWeight down = expert_down(params, spec, has);
    up_ = loader.experts(ups);
    down_ = loader.experts(std::span(&down, 1));
    columns_ = {.hidden = loader.columns(ups.front()), .output = loader.columns(down)};
    if (params.shared_width == 0) return;
    const std::vector<BlockWeight> of_shared = shared_ups(params, spec, has);
    shared_ = loader.chain(of_shared, shared_down(params, spec));
    shared_columns_ = {.hidden = loader.columns(of_shared.front()),
                       .output = loader.columns(shared_down(params, spec))};
    if (!params.names.shared_factor.empty()) factor_ = loader.product(shared_factor(params, spec));
  }

  void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages&) const override {
    RowSpace space = rows.space;
    DeviceView x = rows.residual;
    if (!norm_.empty()) {
      x = space.take(x.cols());
      backend.norm(norm_.view(), {}, rows.residual, x);
    }
    const DeviceView logits = space.take(params_.routing.experts), routes = space.take(2 * params_.routing.chosen);
    backend.linear(*router_.weight, {.bias = router_.bias.address(), .adapters = rows.adapters_of(router_)}, x, logits);
    if (params_.router_softcap != 0.0f) backend.scale({.softcap = params_.router_softcap}, logits);
    backend.route({.routing = params_.routing, .bias = choice_bias_.address()}, logits, routes);
    backend.experts({.up = up_.weight.get(),
                     .up_bias = up_.bias.address(),
                     .gated = params_.gated,
                     .activation = params_.activation,
                     .parameters = params_.parameters,
                     .down = down_.weight.get(),
                     .down_bias = down_.bias.address(),
                     .scale_inputs = params_.scale_inputs,
                     .accumulate = rows.accumulate,
                     .hidden = columns_.hidden.exchanged(),
                     .census = census_.address(),
                     .up_adapters = rows.adapters_of(up_),
                     .down_adapters = rows.adapters_of(down_)},
                    x, routes, columns_.output.own(rows.output));
    columns_.output.exchange(backend, rows.output);
    if (params_.shared_width > 0) run_shared(backend, x, rows, space);
  }

  std::vector<const Product*> products() const override {
    std::vector<const Product*> all = {&router_, &up_, &down_};
    if (params_.shared_width > 0) all.insert(all.end(), {&shared_.up, &shared_.down});
    if (factor_.weight) all.push_back(&factor_);
    return all;
  }

  double weight_bytes(double rows) const noexcept override {
    const auto of_experts = static_cast<double>(up_.weight->packed_bytes() + down_.weight->packed_bytes());
    const double touched = expected_experts(params_.routing, rows) / static_cast<double>(params_.routing.experts);
    return Block::weight_bytes(rows) - of_experts * (1.0 - touched);
  }

  void count_experts(backend::Backend& backend, ExpertUse& use) const override {
    std::vector<std::uint32_t>& rows = counts_;
    backend.download(census_.address(), std::as_writable_bytes(std::span(rows)));
    const std::int64_t touched = std::ssize(rows) - std::ranges::count(rows, 0u);
    const auto choices = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    const auto bytes = static_cast<double>(up_.weight->packed_bytes() + down_.weight->packed_bytes());
    use += {.layers = 1,
            .experts = std::ssize(rows),
            .touched = touched,
            .busiest = *std::ranges::max_element(rows),
            .even = (choices + std::ssize(rows) - 1) / std::ssize(rows),
            .bytes = bytes * static_cast<double>(touched) / static_cast<double>(rows.size())};
  }

 private:
  // out += factor * shared(x)
  void run_shared(backend::Backend& backend, const DeviceView& x, const BlockRows& rows, RowSpace space) const {
    const DeviceView& out = rows.output;
    backend::Mlp mlp{.norm = {},
                     .up = shared_.up.weight.get(),
                     .up_bias = shared_.up.bias.address(),
                     .gated = params_.gated,
                     .activation = params_.activation,
                     .parameters = params_.parameters,
                     .down = shared_.down.weight.get(),
                     .down_bias = shared_.down.bias.address(),
                     .up_adapters = rows.adapters_of(shared_.up),
                     .down_adapters = rows.adapters_of(shared_.down)};
    if (!factor_.weight) return run_feed_forward(backend, mlp, std::nullopt, shared_columns_, space, x, out);
    mlp.accumulate = false;
    const DeviceView factor = space.take(1), shared = space.take(out.cols());
    backend.linear(*factor_.weight, {.bias = factor_.bias.address(), .adapters = rows.adapters_of(factor_)}, x, factor);
    run_feed_forward(backend, mlp, std::nullopt, shared_columns_, space, x, shared);
    backend.gate(backend::GateFunction::kSigmoid, factor, shared);
    backend.add({}, shared, out);
  }

  ExpertsParams params_;
  NormWeights norm_;
  Product router_, up_, down_;                  // up: gate and up stacked when gated
  backend::DeviceVector choice_bias_, census_;  // census_: [experts] u32
  mutable std::vector<std::uint32_t> counts_;   // of count_experts()
  FeedForwardColumns columns_, shared_columns_;
  BlockLoader::Chain shared_;
  Product factor_;
};

Result<void> check_experts(const BlockSpec& block, const ModelSpec&, const backend::Limits&) {
  const ExpertsParams& e = experts_of(block);
  const backend::Routing& r = e.routing;
  if (e.width < 2 || e.width % 2 != 0)
    return unsupported_dimension("moe_intermediate_size", e.width, "even, 2 or more");
  if (e.shared_width % 2 != 0) return unsupported_dimension("shared_expert_intermediate_size", e.shared_width, "even");
  if (r.experts < 2 || r.experts > backend::kMaxExperts) {
    return unsupported_dimension("num_experts", r.experts, fmt::format("in [2, {}]", backend::kMaxExperts));
  }
  if (r.chosen < 1 || r.chosen > r.experts) {
    return unsupported_dimension("num_experts_per_tok", r.chosen, fmt::format("in [1, {}], the experts", r.experts));
  }
  if (r.groups < 1 || r.experts % r.groups != 0) {
    return unsupported_dimension("n_group", r.groups, fmt::format("a divisor of the {} experts", r.experts));
  }
  const std::int64_t in_groups = r.chosen_groups * (r.experts / r.groups);
  if (r.chosen_groups < 1 || r.chosen_groups > r.groups || in_groups < r.chosen) {
    return unsupported_dimension("topk_group", r.chosen_groups,
                                 fmt::format("in [1, {}], with {} experts in them", r.groups, r.chosen));
  }
  return {};
}

std::string experts_key(const BlockSpec& block) {
  const ExpertsParams& e = experts_of(block);
  const backend::Routing& r = e.routing;
  const backend::ActivationParameters& p = e.parameters;
  return fmt::format("{} {} {} {} {} {} {} {} | {} {} {} {} {} {} {} {} {} {} {} | {} {} {}", e.width, e.shared_width,
                     e.gated, static_cast<int>(e.activation), p.alpha, p.limit, p.shift, key_of(e.norm), r.router,
                     r.experts, r.chosen, r.groups, r.chosen_groups, r.normalised, r.floor, r.scale, r.jitter,
                     e.scale_inputs, e.router_bias, e.biases, e.names.choice_bias.empty(),
                     e.names.shared_factor.empty()) +
         (e.names.norm.empty() ? " bare" : "") +
         (e.router_softcap != 0.0f ? fmt::format(" cap {}", e.router_softcap) : "");
}

BlockWork experts_work(const BlockSpec& block, const ModelSpec& spec) {
  const ExpertsParams& e = experts_of(block);
  const auto hidden = static_cast<double>(spec.hidden_size);
  const auto width = static_cast<double>(e.routing.chosen * e.width + e.shared_width);
  BlockWork work{.operations = 2.0 * hidden * ((e.gated ? 3.0 : 2.0) * width + static_cast<double>(e.routing.experts)),
                 .exchanges = {e.routing.chosen * e.width, spec.hidden_size}};
  if (e.shared_width > 0) work.exchanges.insert(work.exchanges.end(), {e.shared_width, spec.hidden_size});
  return work;
}

BlockWorkspace experts_workspace(const BlockSpec& block, const ModelSpec& spec) {
  const ExpertsParams& e = experts_of(block);
  BlockWorkspace needed{.columns = {e.routing.experts, 2 * e.routing.chosen},
                        .ffn = std::max(e.width, e.shared_width),
                        .routed = e.routing.chosen};
  if (!e.names.norm.empty()) needed.columns.push_back(spec.hidden_size);
  if (!e.names.shared_factor.empty()) needed.columns.insert(needed.columns.end(), {1, spec.hidden_size});
  needed.columns_of_ranks = {(e.gated ? 2 : 1) * e.shared_width, e.shared_width};
  return needed;
}

std::vector<BlockWeight> experts_weights(const BlockSpec& block, const ModelSpec& spec, const HasTensor& has) {
  const ExpertsParams& e = experts_of(block);
  std::vector<BlockWeight> all;
  if (!e.names.norm.empty() && e.norm.weight)
    all.push_back(norm_weight("ffn_norm", e.names.norm, spec.hidden_size, e.norm));
  all.push_back(router_weight(e, spec, has));
  if (!e.names.choice_bias.empty()) {
    all.push_back({.role = "exp_probs_b", .name = e.names.choice_bias, .rows = e.routing.experts, .whole_name = true});
  }
  for (BlockWeight& weight : expert_ups(e, spec, has)) all.push_back(std::move(weight));
  all.push_back(expert_down(e, spec, has));
  if (e.shared_width == 0) return all;
  for (BlockWeight& weight : shared_ups(e, spec, has)) all.push_back(std::move(weight));
  all.push_back(shared_down(e, spec));
  if (!e.names.shared_factor.empty()) all.push_back(shared_factor(e, spec));
  return all;
}

}  // namespace

BlockKind experts() {
  return {.name = ExpertsParams::kKind,
          .check = check_experts,
          .key = experts_key,
          .kv = [](const BlockSpec&) { return std::optional<kv::KvNeed>(); },
          .workspace = experts_workspace,
          .work = experts_work,
          .weights = experts_weights,
          .load = [](const BlockSpec& block, BlockLoader& loader) -> std::unique_ptr<Block> {
            return std::make_unique<Experts>(experts_of(block), loader);
          }};
}

}  // namespace blocks
}  // namespace millrace::model
