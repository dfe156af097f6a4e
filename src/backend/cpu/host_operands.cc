#include "backend/cpu/host_operands.h"

namespace millrace::backend::cpu {

HostNorm on_host(const Norm& norm) noexcept { return {norm.kind, norm.eps, pointer(norm.weight), pointer(norm.bias)}; }

std::optional<HostNorm> on_host(const std::optional<Norm>& norm) noexcept {
  return norm ? std::optional(on_host(*norm)) : std::nullopt;
}

HostHeadNorm on_host(const HeadNorm& norm) noexcept {
  return {on_host(norm.norm), norm.over, norm.weight_stride, norm.after_rotation};
}

HostKvPages on_host(const KvPages& pages) noexcept {
  HostKvPages host{pointer<std::byte>(pages.base), geometry_of(pages.format)};
  host.geometry.layer = pages.layer;
  return host;
}

namespace {

HeadGroups whole(HeadGroups groups, std::int64_t heads, const KvPages& pages) noexcept {
  if (groups.size == 0) groups.size = heads / pages.format.kv_heads;
  return groups;
}

}  // namespace

HostAttendArgs on_host(const AttendArgs& args) {
  return {.q = on_host(args.q),
          .sequences = args.sequences,
          .kv = on_host(args.kv),
          .heads = args.heads,
          .groups = whole(args.groups, args.heads, args.kv),
          .scale = args.scale,
          .window = args.window,
          .chunk = args.chunk,
          .softcap = args.softcap,
          .alibi = pointer(args.alibi),
          .sinks = pointer(args.sinks)};
}

HostAttentionInputs on_host(const AttentionInputs& inputs) noexcept {
  return {.norm = on_host(inputs.norm),
          .qkv = inputs.qkv,
          .bias = pointer(inputs.bias),
          .clip = inputs.clip,
          .q_norm = on_host(inputs.q_norm),
          .k_norm = on_host(inputs.k_norm),
          .heads = inputs.heads,
          .groups = whole(inputs.groups, inputs.heads, inputs.kv),
          .cos_sin = pointer(inputs.cos_sin.data),
          .rotated = inputs.cos_sin.data ? inputs.cos_sin.cols() : 0,
          .query_scale = on_host(inputs.query_scale),
          .sequences = inputs.sequences,
          .kv = on_host(inputs.kv)};
}

HostMlp on_host(const Mlp& mlp) noexcept {
  return {.norm = on_host(mlp.norm),
          .up = mlp.up,
          .up_bias = pointer(mlp.up_bias),
          .gated = mlp.gated,
          .activation = mlp.activation,
          .parameters = mlp.parameters,
          .down = mlp.down,
          .down_bias = pointer(mlp.down_bias),
          .accumulate = mlp.accumulate,
          .up_adapters = mlp.up_adapters,
          .down_adapters = mlp.down_adapters,
          .hidden = mlp.hidden};
}

HostExperts on_host(const Experts& experts) noexcept {
  return {.up = experts.up,
          .up_bias = pointer(experts.up_bias),
          .gated = experts.gated,
          .activation = experts.activation,
          .parameters = experts.parameters,
          .down = experts.down,
          .down_bias = pointer(experts.down_bias),
          .scale_inputs = experts.scale_inputs,
          .accumulate = experts.accumulate,
          .hidden = experts.hidden,
          .census = pointer<std::uint32_t>(experts.census),
          .up_adapters = experts.up_adapters,
          .down_adapters = experts.down_adapters};
}

}  // namespace millrace::backend::cpu
