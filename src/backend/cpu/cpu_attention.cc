// Cuts attention into tasks for the worker team. How it is cut changes no bit: see body/attention.inc.

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

// Query rows (tokens times heads of the group) of one kernel call; the kernel's own limit.
constexpr std::int64_t kTaskRows = 64;
constexpr std::size_t kNoPartial = ~std::size_t{0};

struct Task {
  AttendRows rows;
  std::int64_t cost;
  std::size_t partial = kNoPartial;  // offset in floats of this task's state
};

// Where the merge of a sequence's splits finds its partial states.
struct Merge {
  std::int64_t rows;  // tokens * group
  std::int64_t n_splits;
  std::size_t first_partial;  // offset in floats
  AttendRows target;
};

// Stores one token's row of a head: keys dimension by dimension, values as they are.
template <typename T, typename Convert>
void store_token(const float* k, const float* v, std::int64_t head_dim, std::int64_t slot, T* page, Convert convert) {
  for (std::int64_t d = 0; d < head_dim; ++d) page[d * kPageTokens + slot] = convert(k[d]);
  T* values = page + head_dim * kPageTokens + slot * head_dim;
  for (std::int64_t d = 0; d < head_dim; ++d) values[d] = convert(v[d]);
}

}  // namespace

void CpuBackend::write_kv(TensorView k, TensorView v, std::span<const SequenceRows> sequences, const KvPages& kv) {
  const KvGeometry& geometry = kv.geometry;
  DCHECK(geometry.block_tokens == kPageTokens);
  const std::int64_t head_dim = geometry.head_dim;
  for (const SequenceRows& sequence : sequences) {
    team_.split(sequence.n_rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t position = sequence.first_position + i, row = sequence.first_row + i;
        const auto page_id = static_cast<std::size_t>(sequence.pages[static_cast<std::size_t>(position / kPageTokens)]);
        std::byte* page = kv.base + page_id * geometry.page_bytes();
        for (std::int64_t h = 0; h < geometry.kv_heads; ++h, page += geometry.head_bytes()) {
          const float* kh = k.row(row) + h * head_dim;
          const float* vh = v.row(row) + h * head_dim;
          const std::int64_t slot = position % kPageTokens;
          switch (geometry.dtype) {
            case DType::kF32:
              store_token(kh, vh, head_dim, slot, reinterpret_cast<float*>(page), [](float x) { return x; });
              break;
            case DType::kF16:
              store_token(kh, vh, head_dim, slot, reinterpret_cast<std::uint16_t*>(page), f32_to_f16);
              break;
            case DType::kBF16:
              store_token(kh, vh, head_dim, slot, reinterpret_cast<std::uint16_t*>(page), f32_to_bf16);
              break;
            default: CHECK(false && "a KV type without kernels");
          }
        }
      }
    });
  }
}

void CpuBackend::attend(const AttendArgs& args, TensorView out) {
  const KvGeometry& geometry = args.kv.geometry;
  const std::int64_t head_dim = geometry.head_dim, group = args.heads / geometry.kv_heads;
  const std::int64_t task_tokens = std::max<std::int64_t>(1, kTaskRows / group);
  DCHECK(group <= kTaskRows);
  auto* kernel = geometry.dtype == DType::kF32   ? kernels_.attend_f32
                 : geometry.dtype == DType::kF16 ? kernels_.attend_f16
                                                 : kernels_.attend_bf16;
  std::vector<Task> tasks;
  std::vector<Merge> merges;
  std::size_t partial_floats = 0;
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
          tasks.push_back({rows, rows.n_rows * (end - lowest), kNoPartial});
          continue;
        }
        merges.push_back({rows.n_rows * group, n_splits, partial_floats, rows});
        for (std::int64_t s = 0; s < n_splits; ++s) {
          Task task{rows, rows.n_rows * kSplitTokens, partial_floats};
          task.rows.first_split = rows.first_split + s;
          task.rows.last_split = task.rows.first_split + 1;
          tasks.push_back(task);
          partial_floats += static_cast<std::size_t>(rows.n_rows * group * (2 + head_dim));
        }
      }
    }
  }
  partials_.resize(partial_floats);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.cost > b.cost; });
  std::atomic<std::size_t> next{0};
  team_.run([&](int) {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks.size();) {
      AttendRows rows = tasks[i].rows;
      if (tasks[i].partial != kNoPartial) rows.partials = partials_.data() + tasks[i].partial;
      kernel(rows);
    }
  });
  team_.split(static_cast<std::int64_t>(merges.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const Merge& merge = merges[static_cast<std::size_t>(m)];
      for (std::int64_t r = 0; r < merge.rows; ++r) {
        float* to = merge.target.out + (r / group) * merge.target.out_stride + (r % group) * head_dim;
        kernels_.merge_splits(partials_.data() + merge.first_partial + r * (2 + head_dim), merge.n_splits,
                              merge.rows * (2 + head_dim), head_dim, to);
      }
    }
  });
}

}  // namespace millrace::backend::cpu
