// Mixtures of experts. Rows are sorted by expert; then either each free worker takes an expert, or a block of its rows,
// through the whole network, or, with few rows, all workers share the columns of every expert. A row's bits depend
// neither on that nor on the rows beside it; what its experts give is added in the order in which they were chosen.

#include <algorithm>
#include <bit>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/hidden_columns.h"
#include "backend/cpu/row_blocks.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

using Group = ExpertPlan::Group;

// Enough blocks for each worker that the last ones do not leave others waiting.
constexpr std::int64_t kBlocksPerWorker = 4;
// Outputs of few rows that are kept until all experts have been through: as much as the first cache holds.
constexpr std::int64_t kOutputValues = 8192;

// Rows of a block of one expert; 0: the workers share the columns.
std::int64_t expert_block(std::int64_t rows, std::int64_t chosen, std::int64_t workers) noexcept {
  const std::int64_t pairs = rows * chosen, least = kBlocksPerWorker * workers;
  if (rows < kTileRows || pairs < least * kTileRows / 2) return 0;
  return std::clamp(pairs / least / kTileRows * kTileRows, kTileRows, kMaxBlockRows);
}

// Columns of the output of few rows that a worker computes at a time.
std::int64_t output_columns(std::int64_t pairs) noexcept {
  return std::max<std::int64_t>(kGroup, kOutputValues / pairs / kGroup * kGroup);
}

// Bytes for `rows` rows of experts' hidden layers or inputs, each group by itself.
std::size_t bytes_of_groups(const ActivationForm& form, std::int64_t rows) noexcept {
  return static_cast<std::size_t>(rows) * ActivationRows(form, 1, nullptr).bytes();
}

}  // namespace

// One step's experts, for the phases.
struct CpuBackend::ExpertStep {
  HostExperts of;
  TensorView routes, out;
  std::int64_t rows, chosen;
  const ExpertPlan* plan;
  AdapterForm up_form = {}, down_form = {};  // of the rows that adapters read
  std::uint64_t hidden_contents = new_contents();
  TensorView shared = {};  // [pairs, F] f32: the hidden rows by place, where ranks have some of their columns each
  std::int64_t own_first = 0, own_width = 0;

  const PackedLinear& up() const noexcept { return packed(of.up); }
  const PackedLinear& down() const noexcept { return packed(of.down); }
  // The row of the prepared inputs that a place computes with.
  std::int64_t input_row(std::int64_t place) const noexcept {
    const std::int64_t pair = plan->pair(place);
    return of.scale_inputs ? pair : pair / chosen;
  }
  HiddenColumns hidden(const Group& group) const noexcept {
    HiddenColumns columns{.up = &up(),
                          .expert = group.expert,
                          .bias = of.up_bias == nullptr ? nullptr : of.up_bias + group.expert * up().n(),
                          .width = own_width,
                          .gated = of.gated,
                          .activation = of.activation,
                          .parameters = of.parameters};
    if (shared.data == nullptr) return columns;
    columns.plain = shared;
    columns.plain.data = shared.row(group.first) + own_first;
    columns.plain.shape = {group.count, own_width};
    return columns;
  }
  // Takes the rows of a group that were shared.
  void store_shared(const KernelSet& kernels, const Group& group, const ActivationRows& to, const AdapterInput& adapted,
                    std::span<const AdapterRows> adapters) const noexcept {
    for (std::int64_t r = 0; r < group.count; ++r) {
      const float* values = shared.row(group.first + r);
      to.store_row(kernels, r, values);
      if (has_row(adapters, r)) adapted.put(kernels, r, 0, values, shared.cols());
    }
  }
  const float* down_bias(std::int64_t expert) const noexcept {
    return of.down_bias == nullptr ? nullptr : of.down_bias + expert * down().n();
  }
  // The hidden layer of a group, of all groups' memory.
  ActivationRows hidden_rows(const Group& group, std::byte* memory) const noexcept {
    const ActivationForm form = down().activation_form();
    return ActivationRows(form, group.count, memory + bytes_of_groups(form, group.first))
        .with_contents(hidden_contents);
  }
  // The rows of a group; in `memory` if they are several.
  ActivationRows gather(const Group& group, const ActivationRows& from, std::byte* memory) const noexcept {
    if (group.count == 1) return from.part(input_row(group.first), 1);
    const ActivationRows rows_of =
        ActivationRows(up().activation_form(), group.count, memory).with_contents(new_contents());
    for (std::int64_t i = 0; i < group.count; ++i) rows_of.copy_row(i, from, input_row(group.first + i));
    return rows_of;
  }
  // The hidden rows of a group that adapters read, of all groups' memory.
  AdapterInput adapter_hidden(const Group& group, std::byte* memory) const noexcept {
    const std::size_t of_row = AdapterInput(down_form, 1, nullptr).bytes();
    return AdapterInput(down_form, group.count, memory + static_cast<std::size_t>(group.first) * of_row);
  }
  // Columns [first, first + n) of row t from its experts' outputs; output(place) begins at column `first`. `sum` [n] is
  // scratch memory.
  template <typename Output>
  void add_up(const KernelSet& kernels, std::int64_t t, std::int64_t first, std::int64_t n, const Output& output,
              float* sum) const noexcept {
    float* to = out.row(t) + first;
    float* total = of.accumulate ? sum : to;
    std::fill_n(total, n, 0.0f);
    for (std::int64_t j = 0; j < chosen; ++j) {
      const float weight = of.scale_inputs ? 1.0f : routes.row(t)[chosen + j];
      kernels.add(output(plan->place(t * chosen + j)), n, weight, total);
    }
    if (of.accumulate) kernels.add(sum, n, 1.0f, to);
  }
};

void CpuBackend::route(const RouteArgs& args, DeviceView from, DeviceView to) {
  const TensorView logits = on_host(from), routes = on_host(to);
  const Router* router = &find_router(args.routing.router);
  const float* bias = pointer(args.bias);
  DCHECK(logits.cols() == args.routing.experts && routes.cols() == 2 * args.routing.chosen);
  program_->add_split(logits.rows(), 1, [=, routing = args.routing](std::int64_t begin, std::int64_t end, int) {
    Choice chosen[kMaxExperts];
    for (std::int64_t t = begin; t < end; ++t) {
      choose_experts(*router, routing, logits.row(t), bias, chosen);
      for (std::int64_t j = 0; j < routing.chosen; ++j) {
        routes.row(t)[j] = std::bit_cast<float>(chosen[j].expert);
        routes.row(t)[routing.chosen + j] = chosen[j].weight;
      }
    }
  });
}

// The phases of one operation.
struct CpuBackend::ExpertPhases {
  CpuBackend& backend;

  // The rows of x that the experts read: those of `x`, or each as often as it has experts, scaled.
  RowSource inputs(const TensorView& x, const TensorView& routes, bool scaled) {
    if (!scaled) return {x, std::nullopt};
    const std::int64_t chosen = routes.cols() / 2, pairs = x.rows() * chosen;
    backend.partials_.reserve(static_cast<std::size_t>(pairs * x.cols()) * sizeof(float));
    const TensorView rows(backend.partials_.data(), DType::kF32, {pairs, x.cols()});
    backend.program_->add_split(pairs, 1, [=, b = &backend](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::copy_n(x.row(i / chosen), x.cols(), rows.row(i));
        b->kernels_.scale(rows.row(i), x.cols(), routes.row(i / chosen)[chosen + i % chosen], 0.0f);
      }
    });
    return {rows, std::nullopt};
  }

  // Converts the rows of group i that adapters of `up` read, and takes them through A.
  void shrink_up(const ExpertStep& step, const RowSource& source, const Group& group, std::int64_t i, std::byte* memory,
                 float* normed) const noexcept {
    const AdapterInput x(step.up_form, group.count, memory);
    for (std::int64_t r = 0; r < group.count; ++r) {
      if (!has_row(backend.expert_up_.rows(i), r)) continue;
      x.put(backend.kernels_, r, 0, source.row(backend.kernels_, step.input_row(group.first + r), normed),
            source.columns());
    }
    backend.expert_up_.shrink(backend.kernels_, i, x);
  }
  // What adapters do to the hidden layer of group i.
  HiddenAdapters hidden_adapters(std::int64_t i, const AdapterInput& hidden) const noexcept {
    return {.up = backend.expert_up_.outputs(i), .down = backend.expert_down_.rows(i), .hidden = hidden};
  }

  void blocks(const ExpertStep& step, const Products::SharedInput& input, std::int64_t block, std::size_t inputs_at) {
    const ActivationForm up_form = step.up().activation_form(), down_form = step.down().activation_form();
    const std::size_t hidden_at = inputs_at + ActivationRows(up_form, block, nullptr).bytes();
    const std::size_t chunk_at = hidden_at + ActivationRows(down_form, block, nullptr).bytes();
    const std::int64_t width = step.out.cols();
    const std::size_t adapter_up_at = chunk_at + HiddenColumns::chunk_bytes(block);
    const std::size_t adapter_down_at = adapter_up_at + AdapterInput(step.up_form, block, nullptr).bytes();
    backend.workers_.reserve(adapter_down_at + AdapterInput(step.down_form, block, nullptr).bytes());
    backend.hidden_.reserve(static_cast<std::size_t>(step.rows * step.chosen * width) * sizeof(float));
    const std::int64_t blocks = ExpertPlan::max_blocks(step.rows, step.chosen, step.down().experts(), block);
    const auto up = [=, phases = *this, b = &backend](const Group& group, std::int64_t i, int worker) {
      std::byte* memory = b->workers_.of(worker);
      const ActivationRows x = step.gather(group, b->products_.open_input(input, worker), memory + inputs_at);
      const ActivationRows hidden(step.down().activation_form(), group.count, memory + hidden_at);
      const HiddenColumns columns = step.hidden(group);
      const bool adapted = step.of.has_adapters();
      HiddenAdapters adapters;
      if (adapted) {
        phases.shrink_up(step, input.source, group, i, memory + adapter_up_at, b->workers_.normed_row(worker));
        adapters = phases.hidden_adapters(i, {step.down_form, group.count, memory + adapter_down_at});
      }
      columns.compute(b->kernels_, 0, columns.panels(), x, hidden, reinterpret_cast<float*>(memory + chunk_at),
                      adapted ? &adapters : nullptr);
    };
    const auto down = [=, phases = *this, b = &backend](const Group& group, std::int64_t i, int worker) {
      std::byte* memory = b->workers_.of(worker);
      const ActivationRows hidden(step.down().activation_form(), group.count, memory + hidden_at);
      const AdapterInput own(step.down_form, group.count, memory + adapter_down_at);
      if (step.shared.data != nullptr) {
        step.store_shared(b->kernels_, group, hidden, own, phases.adapters_of_down(step, i));
      } else {
        hidden.finish_rows(b->kernels_, 0, group.count);
      }
      const PackedLinear& weight = step.down();
      const float* bias = step.down_bias(group.expert);
      float* out = b->hidden_.as<float>() + group.first * width;
      weight.multiply(0, weight.panels(), {hidden, bias, false, out, width, group.expert});
      if (!step.of.has_adapters()) return;
      b->expert_down_.shrink(b->kernels_, i, own);
      b->expert_down_.outputs(i).apply(b->kernels_, {0, weight.panels(), 0, bias, out, width});
    };
    if (step.shared.data != nullptr) {
      add_blocks(blocks, up);
      backend.ranks_->record(*backend.program_, step.of.hidden, step.shared);
      add_blocks(blocks, down);
    } else {
      add_blocks(blocks, [=](const Group& group, std::int64_t i, int worker) {
        up(group, i, worker);
        down(group, i, worker);
      });
    }
    backend.program_->add_split(step.rows, 1, [=, b = &backend](std::int64_t begin, std::int64_t end, int worker) {
      const auto output = [&](std::int64_t place) { return b->hidden_.as<float>() + place * width; };
      for (std::int64_t t = begin; t < end; ++t) {
        step.add_up(b->kernels_, t, 0, width, output, b->workers_.normed_row(worker));
      }
    });
  }

  // Few rows, of `pairs` pairs with their experts: phases in which the workers share the columns of every expert.
  void columns(const ExpertStep& step, const Products::SharedInput& input, std::size_t inputs_at) {
    const std::int64_t pairs = step.rows * step.chosen, groups = std::min(step.down().experts(), pairs);
    const ActivationForm up_form = step.up().activation_form();
    const std::size_t chunk_at = inputs_at + ActivationRows(up_form, step.rows, nullptr).bytes();
    const std::size_t output_bytes = static_cast<std::size_t>(pairs * output_columns(pairs)) * sizeof(float);
    backend.workers_.reserve(std::max(chunk_at + std::max(HiddenColumns::chunk_bytes(step.rows), output_bytes),
                                      inputs_at + AdapterInput(step.up_form, step.rows, nullptr).bytes()));
    backend.hidden_.reserve(bytes_of_groups(step.down().activation_form(), pairs));
    const std::size_t of_row = AdapterInput(step.down_form, 1, nullptr).bytes();
    backend.adapter_hidden_.reserve(static_cast<std::size_t>(pairs) * of_row);
    if (step.of.has_adapters()) {
      add_groups(groups, [=, phases = *this, b = &backend](const Group& group, std::int64_t i, int worker) {
        std::byte* memory = b->workers_.of(worker) + inputs_at;
        phases.shrink_up(step, input.source, group, i, memory, b->workers_.normed_row(worker));
      });
    }
    hidden_columns(step, input, groups, inputs_at, chunk_at);
    if (step.shared.data != nullptr) {
      backend.ranks_->record(*backend.program_, step.of.hidden, step.shared);
      add_groups(groups, [=, phases = *this, b = &backend](const Group& group, std::int64_t i, int) {
        step.store_shared(b->kernels_, group, step.hidden_rows(group, b->hidden_.data()),
                          step.adapter_hidden(group, b->adapter_hidden_.data()), phases.adapters_of_down(step, i));
      });
    } else if (step.down().activation_form().waits_for_rows()) {
      add_groups(groups, [=, b = &backend](const Group& group, std::int64_t, int) {
        step.hidden_rows(group, b->hidden_.data()).finish_rows(b->kernels_, 0, group.count);
      });
    }
    if (step.of.has_adapters()) {
      add_groups(groups, [=, b = &backend](const Group& group, std::int64_t i, int) {
        b->expert_down_.shrink(b->kernels_, i, step.adapter_hidden(group, b->adapter_hidden_.data()));
      });
    }
    down_columns(step, pairs, chunk_at);
  }

  std::span<const AdapterRows> adapters_of_down(const ExpertStep& step, std::int64_t i) const noexcept {
    return step.of.has_adapters() ? backend.expert_down_.rows(i) : std::span<const AdapterRows>();
  }
  // A task for each block: visit(group, its number, worker).
  template <typename Visit>
  void add_blocks(std::int64_t blocks, const Visit& visit) {
    backend.program_->add_tasks(blocks, [visit, b = &backend](std::int64_t i, int worker) {
      if (i < std::ssize(b->expert_plan_.blocks())) {
        visit(b->expert_plan_.blocks()[static_cast<std::size_t>(i)], i, worker);
      }
    });
  }
  // The same for each group.
  template <typename Visit>
  void add_groups(std::int64_t groups, const Visit& visit) {
    backend.program_->add_tasks(groups, [visit, b = &backend](std::int64_t i, int worker) {
      if (i < std::ssize(b->expert_plan_.groups())) {
        visit(b->expert_plan_.groups()[static_cast<std::size_t>(i)], i, worker);
      }
    });
  }

  void hidden_columns(const ExpertStep& step, const Products::SharedInput& input, std::int64_t groups,
                      std::size_t inputs_at, std::size_t chunk_at) {
    const std::int64_t panels = (step.hidden({}).panels() + kColumnGrain - 1) / kColumnGrain * kColumnGrain;
    const auto visit = [=, phases = *this, b = &backend](std::int64_t begin, std::int64_t end, int worker) {
      std::byte* memory = b->workers_.of(worker);
      for (std::int64_t at = begin; at < end; at = (at / panels + 1) * panels) {
        if (at / panels >= std::ssize(b->expert_plan_.groups())) return;
        const Group& group = b->expert_plan_.groups()[static_cast<std::size_t>(at / panels)];
        const ActivationRows x = step.gather(group, b->products_.open_input(input, worker), memory + inputs_at);
        const HiddenColumns columns = step.hidden(group);
        const std::int64_t last = std::min(columns.panels(), at % panels + end - at);
        const bool adapted = step.of.has_adapters();
        HiddenAdapters adapters;
        if (adapted) {
          adapters = phases.hidden_adapters(at / panels, step.adapter_hidden(group, b->adapter_hidden_.data()));
        }
        columns.compute(b->kernels_, at % panels, last, x, step.hidden_rows(group, b->hidden_.data()),
                        reinterpret_cast<float*>(memory + chunk_at), adapted ? &adapters : nullptr);
      }
    };
    backend.program_->add_split(groups * panels, kColumnGrain, visit);
  }

  void down_columns(const ExpertStep& step, std::int64_t pairs, std::size_t chunk_at) {
    const auto visit = [=, b = &backend](std::int64_t begin, std::int64_t end, int worker) {
      auto* outputs = reinterpret_cast<float*>(b->workers_.of(worker) + chunk_at);
      const PackedLinear& down = step.down();
      const std::int64_t stride = output_columns(pairs), chunk = stride / kPanelRows;
      for (std::int64_t panel = begin; panel < end; panel += chunk) {
        const std::int64_t last = std::min(end, panel + chunk), column = down.column(panel);
        for (std::int64_t i = 0; i < std::ssize(b->expert_plan_.groups()); ++i) {
          const Group& group = b->expert_plan_.groups()[static_cast<std::size_t>(i)];
          const ActivationRows hidden = step.hidden_rows(group, b->hidden_.data());
          const float* bias = step.down_bias(group.expert);
          float* out = outputs + group.first * stride;
          down.multiply(panel, last, {hidden, bias, false, out, stride, group.expert});
          if (!step.of.has_adapters()) continue;
          b->expert_down_.outputs(i).apply(b->kernels_, {panel, last, column, bias, out, stride});
        }
        const auto output = [&](std::int64_t place) { return outputs + place * stride; };
        for (std::int64_t t = 0; t < step.rows; ++t) {
          step.add_up(b->kernels_, t, column, down.column(last) - column, output, b->workers_.normed_row(worker));
        }
      }
    };
    backend.program_->add_split(step.down().panels(), kColumnGrain, visit);
  }
};

// Where ranks have some of the hidden columns each, all of them are put together in between.
void CpuBackend::share_hidden(ExpertStep& step) {
  const std::int64_t width = step.down().k();
  step.own_width = width;
  const std::span<const std::int64_t> borders = step.of.hidden.borders;
  if (ranks_ == nullptr || borders.empty()) return;
  const std::int64_t pairs = step.rows * step.chosen;
  shared_hidden_.reserve(static_cast<std::size_t>(pairs * width) * sizeof(float));
  step.shared = TensorView(shared_hidden_.data(), DType::kF32, {pairs, width});
  step.own_first = borders[static_cast<std::size_t>(rank())];
  step.own_width = borders[static_cast<std::size_t>(rank()) + 1] - step.own_first;
}

void CpuBackend::experts(const Experts& of_device, DeviceView from, DeviceView routes_at, DeviceView to) {
  const TensorView x = on_host(from), routes = on_host(routes_at);
  ExpertStep step{.of = on_host(of_device),
                  .routes = routes,
                  .out = on_host(to),
                  .rows = x.rows(),
                  .chosen = routes.cols() / 2,
                  .plan = &expert_plan_,
                  .up_form = input_form(of_device.up_adapters),
                  .down_form = input_form(of_device.down_adapters)};
  share_hidden(step);
  const PackedLinear &up = step.up(), &down = step.down();
  DCHECK(x.cols() == up.k() && up.n() == (step.of.gated ? 2 : 1) * step.own_width && down.n() == step.out.cols());
  DCHECK(up.experts() == down.experts() && step.out.rows() == step.rows);
  if (step.rows == 0) return;
  const std::int64_t block = expert_block(step.rows, step.chosen, threads());
  expert_plan_.reserve(step.rows, step.chosen, down.experts());
  const std::int64_t groups = block > 0 ? ExpertPlan::max_blocks(step.rows, step.chosen, down.experts(), block)
                                        : std::min(down.experts(), step.rows * step.chosen);
  expert_up_.reserve(step.of.up_adapters, step.chosen, groups);
  expert_down_.reserve(step.of.down_adapters, step.chosen, groups);
  program_->add_tasks(1, [this, step, block](std::int64_t, int) {
    expert_plan_.make(step.routes, step.down().experts(), block, step.of.census);
    if (!step.of.has_adapters()) return;
    const auto cut = block > 0 ? expert_plan_.blocks() : expert_plan_.groups();
    const std::int64_t most = block > 0 ? block : kTileRows;
    expert_up_.make(step.of.up_adapters, expert_plan_, cut, step.chosen, most);
    expert_down_.make(step.of.down_adapters, expert_plan_, cut, step.chosen, most);
  });
  ExpertPhases phases{*this};
  const RowSource source = phases.inputs(x, routes, step.of.scale_inputs);
  const Products::SharedInput input = products_.share_input(*program_, source, up);
  // Of a worker, behind what open_input() puts there and a row of sums.
  const std::size_t inputs_at = WorkerMemory::row_bytes(std::max(up.k(), down.n())) +
                                ActivationRows(up.activation_form(), input.own ? source.rows() : 0, nullptr).bytes();
  if (block > 0) return phases.blocks(step, input, block, inputs_at);
  phases.columns(step, input, inputs_at);
}

}  // namespace millrace::backend::cpu
