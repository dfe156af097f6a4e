// Operations on rows, each row by itself: embeddings, norms, activations, sums, gates, tables of positions, and the way
// of rows into tables and back.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/packed_row_delta.h"
#include "backend/router_math.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

std::byte* row_at(const TensorView& table, std::int64_t row) noexcept {
  return static_cast<std::byte*>(table.data) +
         static_cast<std::size_t>(row * table.row_stride()) * size_of(table.dtype);
}

// ln(1 + e^x), of IEEE operations alone: max(x, 0) + ln(1 + e), e = e^-|x|, with ln(1 + e) = 2 artanh(e / (2 + e)).
float softplus(float x) noexcept {
  if (!(std::fabs(x) < 80.0f)) return std::max(x, 0.0f);
  const float e = router_exp(-std::fabs(x)), z = e / (2.0f + e), square = z * z;
  float series = 0.0f;
  for (int n = 15; n > 0; n -= 2) series = series * square + 1.0f / static_cast<float>(n);
  return std::max(x, 0.0f) + 2.0f * z * series;
}

void gate_by_softplus(const float* gates, std::int64_t n, std::int64_t width, float* x) noexcept {
  for (std::int64_t g = 0; g < n; ++g, x += width) {
    const float by = softplus(gates[g]);
    for (std::int64_t i = 0; i < width; ++i) x[i] *= by;
  }
}

}  // namespace

void CpuBackend::gather(const Linear& weight, std::span<const std::int32_t> ids, const GatherOptions& options,
                        DeviceView to) {
  const TensorView out = on_host(to);
  std::int64_t scratch = options.accumulate ? out.cols() : 0;
  for (const AdapterRows& adapter : options.adapters) {
    scratch = std::max(scratch, static_cast<const PackedRowDelta*>(adapter.weights)->scratch());
  }
  if (scratch > 0) workers_.reserve(WorkerMemory::row_bytes(scratch));
  program_->add_split(
      static_cast<std::int64_t>(ids.size()), 1,
      [=, this, packed = &weight, rows = weight.n() * weight.experts(), first_row = options.first_row,
       accumulate = options.accumulate, adapters = options.adapters](std::int64_t begin, std::int64_t end, int worker) {
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int64_t id = ids[static_cast<std::size_t>(t)] - first_row;
          if (id < 0 || id >= rows) continue;
          float* memory = workers_.normed_row(worker);
          packed->unpack_row(id, accumulate ? memory : out.row(t));
          if (accumulate) kernels_.add(memory, out.cols(), 1.0f, out.row(t));
          for (const AdapterRows& adapter : adapters) {
            if (t < adapter.first_row || t >= adapter.first_row + adapter.n_rows) continue;
            static_cast<const PackedRowDelta*>(adapter.weights)
                ->add(kernels_, static_cast<std::int32_t>(id), adapter.scale, memory, out.row(t));
          }
        }
      });
}

void CpuBackend::norm(const Norm& of_device, std::span<const std::int64_t> rows, DeviceView from, DeviceView to) {
  const HostNorm norm = on_host(of_device);
  const TensorView x = on_host(from), out = on_host(to);
  DCHECK(out.rows() == (rows.empty() ? x.rows() : std::ssize(rows)) && out.cols() == x.cols());
  program_->add_split(out.rows(), 1, [=, this](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = rows.empty() ? i : rows[static_cast<std::size_t>(i)];
      normalise(kernels_, norm, x.row(row), x.cols(), out.row(i));
    }
  });
}

void CpuBackend::activate(const ActivateArgs& args, DeviceView from, DeviceView to) {
  const TensorView x = on_host(from), out = on_host(to);
  DCHECK(x.rows() == out.rows() && x.cols() == (args.gated ? 2 : 1) * out.cols());
  program_->add_split(out.rows(), 1, [=, this](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      const float* up = args.gated ? x.row(t) + out.cols() : nullptr;
      kernels_.activate(args.activation, args.parameters, x.row(t), up, out.cols(), out.row(t));
    }
  });
}

void CpuBackend::add(const AddOptions& options, DeviceView from, DeviceView to) {
  const TensorView x = on_host(from), out = on_host(to);
  const HostNorm norm = on_host(options.norm).value_or(HostNorm{});
  const float scale = options.scale;
  DCHECK(x.rows() == out.rows() && x.cols() == out.cols());
  if (norm.weight != nullptr) workers_.reserve(WorkerMemory::row_bytes(x.cols()));
  program_->add_split(x.rows(), 1, [=, this](std::int64_t begin, std::int64_t end, int worker) {
    for (std::int64_t t = begin; t < end; ++t) {
      const float* row = x.row(t);
      if (norm.weight != nullptr) {
        normalise(kernels_, norm, row, x.cols(), workers_.normed_row(worker));
        row = workers_.normed_row(worker);
      }
      kernels_.add(row, x.cols(), scale, out.row(t));
    }
  });
}

// In pieces of rows, as the logits of one row are a vocabulary.
void CpuBackend::scale(const ScaleOptions& options, DeviceView of_device) {
  constexpr std::int64_t kColumns = 4096;
  const TensorView x = on_host(of_device);
  const std::int64_t pieces = (x.cols() + kColumns - 1) / kColumns;
  program_->add_split(x.rows() * pieces, 1, [=, this](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = i % pieces * kColumns, columns = std::min(kColumns, x.cols() - column);
      kernels_.scale(x.row(i / pieces) + column, columns, options.factor, options.softcap);
    }
  });
}

void CpuBackend::gate(GateFunction f, DeviceView gates_of_device, DeviceView of_device) {
  const TensorView gates = on_host(gates_of_device), x = on_host(of_device);
  DCHECK(gates.rows() == x.rows() && gates.cols() > 0 && x.cols() % gates.cols() == 0);
  program_->add_split(x.rows(), 1, [=, this](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      if (f == GateFunction::kSoftplus) {
        gate_by_softplus(gates.row(t), gates.cols(), x.cols() / gates.cols(), x.row(t));
      } else {
        kernels_.gate(gates.row(t), gates.cols(), x.cols() / gates.cols(), x.row(t));
      }
    }
  });
}

void CpuBackend::rotary_table(std::span<const std::int32_t> positions, const RotaryAngles& angles, DeviceView to) {
  const TensorView out = on_host(to);
  DCHECK(out.cols() == 2 * std::ssize(angles.inverse_frequency) && out.rows() == std::ssize(positions));
  program_->add_split(std::ssize(positions), 1, [=](std::int64_t begin, std::int64_t end, int) {
    const std::size_t half = angles.inverse_frequency.size();
    for (std::int64_t t = begin; t < end; ++t) {
      const auto position = static_cast<double>(positions[static_cast<std::size_t>(t)]);
      float* row = out.row(t);
      for (std::size_t i = 0; i < half; ++i) {
        const double angle = position * angles.inverse_frequency[i];
        row[i] = static_cast<float>(std::cos(angle) * angles.factor);
        row[half + i] = static_cast<float>(std::sin(angle) * angles.factor);
      }
    }
  });
}

void CpuBackend::position_scale(std::span<const std::int32_t> positions, const PositionScale& scale, DeviceView to) {
  const TensorView out = on_host(to);
  DCHECK(out.cols() == 1 && out.rows() == std::ssize(positions));
  program_->add_split(std::ssize(positions), 1, [=](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      const auto position = static_cast<double>(positions[static_cast<std::size_t>(t)]);
      const double periods = std::floor((position + scale.offset) / scale.period);
      *out.row(t) = static_cast<float>(1.0 + scale.factor * std::log(1.0 + periods));
    }
  });
}

void CpuBackend::load_rows(DeviceView from, std::span<const std::int64_t> slots, DeviceView to) {
  const TensorView table = on_host(from), out = on_host(to);
  DCHECK(table.dtype == DType::kF32 || table.dtype == DType::kBF16);
  program_->add_split(std::ssize(slots), 1, [=](std::int64_t begin, std::int64_t end, int) {
    const auto n = static_cast<std::size_t>(out.cols());
    for (std::int64_t i = begin; i < end; ++i) {
      const std::byte* row = row_at(table, slots[static_cast<std::size_t>(i)]);
      if (table.dtype == DType::kF32) {
        std::memcpy(out.row(i), row, n * sizeof(float));
        continue;
      }
      const auto* in = reinterpret_cast<const std::uint16_t*>(row);
      for (std::size_t c = 0; c < n; ++c) out.row(i)[c] = bf16_to_f32(in[c]);
    }
  });
}

void CpuBackend::store_rows(DeviceView from, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots,
                            DeviceView to) {
  const TensorView x = on_host(from), table = on_host(to);
  DCHECK(table.dtype == DType::kF32 || table.dtype == DType::kBF16);
  program_->add_split(std::ssize(slots), 1, [=](std::int64_t begin, std::int64_t end, int) {
    const auto n = static_cast<std::size_t>(x.cols());
    for (std::int64_t i = begin; i < end; ++i) {
      const float* in = x.row(rows[static_cast<std::size_t>(i)]);
      std::byte* row = row_at(table, slots[static_cast<std::size_t>(i)]);
      if (table.dtype == DType::kF32) {
        std::memcpy(row, in, n * sizeof(float));
        continue;
      }
      auto* out = reinterpret_cast<std::uint16_t*>(row);
      for (std::size_t c = 0; c < n; ++c) out[c] = f32_to_bf16(in[c]);
    }
  });
}

void CpuBackend::exchange(const ExchangeArgs& args, DeviceView x) {
  if (ranks_ != nullptr) ranks_->record(*program_, args, on_host(x));
}

}  // namespace millrace::backend::cpu
