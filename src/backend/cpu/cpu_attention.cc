// Cuts attention into tasks for the worker team. How it is cut changes no bit: see body/attention.inc.

#include <algorithm>

#include "backend/cpu/attention_plan.h"
#include "backend/cpu/cpu_backend.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

// Query rows (tokens times heads of the group) of one kernel call; the kernel's own limit.
constexpr std::int64_t kTaskRows = 64;

void plan_attention(const AttendArgs& args, TensorView out, AttentionPlan& plan) {
  const KvGeometry& geometry = args.kv.geometry;
  const std::int64_t head_dim = geometry.head_dim, group = args.heads / geometry.kv_heads;
  const std::int64_t task_tokens = std::max<std::int64_t>(1, kTaskRows / group);
  DCHECK(group <= kTaskRows);
  plan.tasks.clear();
  plan.merges.clear();
  plan.partial_floats = 0;
  for (const SequenceRows& sequence : args.sequences) {
    for (std::int64_t h = 0; h < geometry.kv_heads; ++h) {
      for (std::int64_t t = 0; t < sequence.n_rows; t += task_tokens) {
        AttendRows rows{};
        const std::int64_t row = sequence.first_row + t;
        rows.q = args.q.row(row) + h * group * head_dim;
        rows.q_stride = args.q.row_stride();
        rows.out = out.row(row) + h * group * head_dim;
        rows.out_stride = out.row_stride();
        rows.n_rows = std::min(task_tokens, sequence.n_rows - t);
        rows.group = group;
        rows.first_position = sequence.first_position + t;
        rows.window = args.window;
        rows.scale = args.scale;
        rows.pages = sequence.pages.data();
        rows.kv_base = args.kv.base + static_cast<std::size_t>(h) * geometry.head_bytes();
        rows.page_bytes = geometry.page_bytes();
        rows.head_dim = head_dim;
        const std::int64_t end = rows.first_position + rows.n_rows;
        const std::int64_t lowest =
            args.window > 0 ? std::max<std::int64_t>(0, rows.first_position - args.window + 1) : 0;
        rows.first_split = lowest / kSplitTokens;
        rows.last_split = (end + kSplitTokens - 1) / kSplitTokens;
        const std::int64_t n_splits = rows.last_split - rows.first_split;
        // Few rows over many keys (decoding, verification): one task a split; else one task for all of them.
        if (sequence.n_rows > task_tokens || n_splits == 1) {
          plan.tasks.push_back({rows, rows.n_rows * (end - lowest), AttentionPlan::kNoPartial});
          continue;
        }
        plan.merges.push_back({rows.n_rows * group, n_splits, plan.partial_floats, rows});
        for (std::int64_t s = 0; s < n_splits; ++s) {
          AttentionPlan::Task task{rows, rows.n_rows * kSplitTokens, plan.partial_floats};
          task.rows.first_split = rows.first_split + s;
          task.rows.last_split = task.rows.first_split + 1;
          plan.tasks.push_back(task);
          plan.partial_floats += static_cast<std::size_t>(rows.n_rows * group * (2 + head_dim));
        }
      }
    }
  }
  std::stable_sort(plan.tasks.begin(), plan.tasks.end(),
                   [](const AttentionPlan::Task& a, const AttentionPlan::Task& b) { return a.cost > b.cost; });
}

}  // namespace

void CpuBackend::attend(const AttendArgs& args, TensorView out) {
  if (plans_used_ == plans_.size()) plans_.emplace_back();
  const AttentionPlan* plan = &plans_[plans_used_];
  plan_attention(args, out, plans_[plans_used_++]);
  partials_.reserve(plan->partial_floats * sizeof(float));
  const KvGeometry& geometry = args.kv.geometry;
  auto* kernel = geometry.dtype == DType::kF32   ? kernels_.attend_f32
                 : geometry.dtype == DType::kF16 ? kernels_.attend_f16
                                                 : kernels_.attend_bf16;
  program_->add_tasks(static_cast<std::int64_t>(plan->tasks.size()), [=, this](std::int64_t i, int) {
    const AttentionPlan::Task& task = plan->tasks[static_cast<std::size_t>(i)];
    AttendRows rows = task.rows;
    if (task.partial != AttentionPlan::kNoPartial) rows.partials = partials_.as<float>() + task.partial;
    kernel(rows);
  });
  if (plan->merges.empty()) return;
  const std::int64_t head_dim = geometry.head_dim, group = args.heads / geometry.kv_heads;
  program_->add_tasks(static_cast<std::int64_t>(plan->merges.size()), [=, this](std::int64_t m, int) {
    const AttentionPlan::Merge& merge = plan->merges[static_cast<std::size_t>(m)];
    for (std::int64_t r = 0; r < merge.rows; ++r) {
      float* to = merge.target.out + (r / group) * merge.target.out_stride + (r % group) * head_dim;
      kernels_.merge_splits(partials_.as<float>() + merge.first_partial + r * (2 + head_dim), merge.n_splits,
                            merge.rows * (2 + head_dim), head_dim, to);
    }
  });
}

}  // namespace millrace::backend::cpu
