#include "backend/cpu/cpu_backend.h"

#include <cmath>

#include "backend/cpu/packed_linear.h"
#include "base/check.h"

namespace millrace::backend {

Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuConfig& config) {
  Isa isa = detect_isa();
  if (!config.isa.empty()) {
    const auto wanted = parse_isa(config.isa);
    if (!wanted) {
      return make_error(ErrorCode::kInvalidArgument, "cpu-isa", "unknown instruction set '{}': use {}, {}, {} or {}",
                        config.isa, to_string(Isa::kScalar), to_string(Isa::kAvx2), to_string(Isa::kAvx512Vnni),
                        to_string(Isa::kAvx512Bf16));
    }
    if (*wanted > isa) {
      return make_error(ErrorCode::kInvalidArgument, "cpu-isa", "this processor has {} at best, not {}", to_string(isa),
                        config.isa);
    }
    isa = *wanted;
  }
  if (config.threads < 0 || config.threads > 1024) {
    return make_error(ErrorCode::kInvalidArgument, "threads", "threads is {}, must be 0 (all) to 1024", config.threads);
  }
  const int threads = config.threads > 0 ? config.threads : cpu_info().logical_cpus;
  return std::unique_ptr<Backend>(std::make_unique<cpu::CpuBackend>(threads, isa));
}

namespace cpu {

CpuBackend::CpuBackend(int threads, Isa isa) : team_(threads), kernels_(select_kernels(isa)) {}

std::string CpuBackend::description() const {
  return fmt::format("cpu {}, {} thread{}", to_string(kernels_.isa), team_.size(), team_.size() == 1 ? "" : "s");
}

std::unique_ptr<Linear> CpuBackend::make_linear(std::vector<WeightSource> sources, MatmulPrecision precision) {
  return std::make_unique<PackedLinear>(std::move(sources), kernels_, precision, team_);
}

std::size_t CpuBackend::packed_bytes(const quant::QuantFormat& format, std::int64_t rows, std::int64_t cols,
                                     MatmulPrecision precision) const {
  return PackedLinear::bytes(kernels_, format, rows, cols, precision);
}

void CpuBackend::gather(const Linear& weight, std::span<const std::int32_t> ids, TensorView out) {
  const auto& packed = static_cast<const PackedLinear&>(weight);
  team_.split(static_cast<std::int64_t>(ids.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) packed.unpack_row(ids[static_cast<std::size_t>(t)], out.row(t));
  });
}

Activations CpuBackend::prepare(ActivationType type, TensorView x) {
  const std::int64_t rows = x.rows(), k = x.cols();
  Activations prepared;
  prepared.rows = rows;
  prepared.k = k;
  prepared.f32 = x.row(0);
  prepared.f32_stride = x.row_stride();
  const auto elements = static_cast<std::size_t>(rows * k);
  if (type == ActivationType::kBf16) {
    bf16_.resize(elements);
    team_.split(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) kernels_.to_bf16(x.row(r), k, bf16_.data() + r * k);
    });
    prepared.bf16 = bf16_.data();
  } else if (type == ActivationType::kInt8) {
    const std::int64_t groups = k / kGroup;
    codes_.resize(elements);
    scales_.resize(static_cast<std::size_t>(rows * groups));
    sums_.resize(static_cast<std::size_t>(rows * groups * 2));
    team_.split(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        kernels_.quantize(x.row(r), k, codes_.data() + r * k, scales_.data() + r * groups,
                          sums_.data() + r * groups * 2);
      }
    });
    prepared.q = codes_.data();
    prepared.scale = scales_.data();
    prepared.sum = sums_.data();
  }
  return prepared;
}

void CpuBackend::linear(const Linear& weight, TensorView x, const float* bias, bool accumulate, TensorView out) {
  const auto& packed = static_cast<const PackedLinear&>(weight);
  DCHECK(x.cols() == packed.k() && out.cols() == packed.n() && x.rows() == out.rows());
  if (x.rows() == 0) return;
  const PackedLinear::Segment* previous = nullptr;
  Activations activations;
  for (const PackedLinear::Segment& segment : packed.segments()) {
    // Stacked weights see the same x: it is converted once for all segments that want it alike.
    if (previous == nullptr || previous->kernel->activation != segment.kernel->activation) {
      activations = prepare(segment.kernel->activation, x);
    }
    previous = &segment;
    // Grain of 4 panels: kernels run several side by side.
    team_.split(segment.panels(), 4, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t column = segment.first_row + begin * kPanelRows;
      LinearArgs args{};
      args.panels = packed.panel(segment, begin);
      args.n_panels = end - begin;
      args.panel_bytes = segment.panel_bytes;
      args.x = activations;
      args.out = out.row(0) + column;
      args.out_stride = out.row_stride();
      args.out_columns = std::min(segment.rows, end * kPanelRows) - begin * kPanelRows;
      args.bias = bias == nullptr ? nullptr : bias + column;
      args.accumulate = accumulate;
      args.format = segment.format;
      segment.kernel->run(args);
    });
  }
}

void CpuBackend::norm(const Norm& norm, TensorView x, std::int64_t groups, TensorView out) {
  const std::int64_t n = x.cols() / groups;
  team_.split(x.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t g = 0; g < groups; ++g) {
        const float* from = x.row(t) + g * n;
        float* to = out.row(t) + g * n;
        if (norm.kind == NormKind::kRms) {
          kernels_.rms_norm(from, n, norm.weight, norm.eps, to);
        } else {
          kernels_.layer_norm(from, n, norm.weight, norm.bias, norm.eps, to);
        }
      }
    }
  });
}

void CpuBackend::rope(const RopeArgs& args) {
  const std::int64_t heads = args.x.cols() / args.head_dim;
  team_.split(args.x.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        kernels_.rope(args.x.row(t) + h * args.head_dim, args.rotated, args.cos_sin + t * args.rotated);
      }
    }
  });
}

void CpuBackend::gated_activation(Activation activation, TensorView x, TensorView out) {
  const std::int64_t n = out.cols();
  team_.split(x.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) kernels_.activate(activation, x.row(t), x.row(t) + n, n, out.row(t));
  });
}

void CpuBackend::activate(Activation activation, TensorView x) {
  team_.split(x.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) kernels_.activate(activation, x.row(t), nullptr, x.cols(), x.row(t));
  });
}

void CpuBackend::add(TensorView x, TensorView out) {
  team_.split(x.rows(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) kernels_.add(x.row(t), x.cols(), out.row(t));
  });
}

}  // namespace cpu
}  // namespace millrace::backend
