#include "backend/cpu/attention_plan.h"

#include <algorithm>

#include "backend/cpu/kv_encoding.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

// Query rows of a task that takes all keys: a multiple of what kernels keep in registers, and few enough for their
// state to stay in the second-level cache.
constexpr std::int64_t kTaskRows = 96;
constexpr std::int64_t kTasksPerWorker = 4;  // enough that none waits long for the last

std::int64_t splits_up_to(std::int64_t position) noexcept { return (position + kSplitTokens) / kSplitTokens; }

// All of a call but its size, from token `token` of the sequence and from the query head on.
AttendRows rows_of(const HostAttendArgs& args, const SequenceRows& sequence, TensorView out, std::int64_t token,
                   std::int64_t query_head) noexcept {
  const KvGeometry& geometry = args.kv.geometry;
  const std::int64_t row = sequence.first_row + token;
  AttendRows rows{};
  rows.q = args.q.row(row) + query_head * geometry.key_dim;
  rows.q_stride = args.q.row_stride();
  rows.out = out.row(row) + query_head * geometry.value_dim;
  rows.out_stride = out.row_stride();
  rows.first_position = sequence.first_position + token;
  rows.window = args.window;
  rows.chunk = args.chunk;
  rows.scale = args.scale;
  rows.softcap = args.softcap;
  rows.alibi = args.alibi != nullptr ? args.alibi + query_head : nullptr;
  rows.sinks = args.sinks != nullptr ? args.sinks + query_head : nullptr;
  rows.pages = sequence.pages.data();
  rows.kv = args.kv;
  rows.gather = layout_of(geometry).gather;
  return rows;
}

// Whether `n` key heads from `first` on have all their query heads.
bool has_whole_groups(const HostAttendArgs& args, std::int64_t first, std::int64_t n) noexcept {
  return args.groups.of(first + n - 1, args.heads).last - args.groups.of(first, args.heads).first ==
         n * args.groups.size;
}

}  // namespace

std::size_t attend_scratch_bytes(std::int64_t padded_key_dim, std::int64_t padded_value_dim) noexcept {
  constexpr std::size_t kTileState = std::size_t{4} * 12 * kTileTokens * sizeof(float);
  constexpr std::size_t kPadding = 10 * 64;
  const std::size_t copies = 13 * part_bytes(padded_key_dim, padded_value_dim);
  // Output and total; a query with its padding; sums of 16 lanes, two maxima, a sum.
  const auto row = static_cast<std::size_t>(2 * padded_value_dim + kMaxKeyDim + 16 + 16 + 8) * sizeof(float);
  return (static_cast<std::size_t>(kAttendRows) * row + kTileState + copies + kPadding + 63) / 64 * 64;
}

void AttentionPlan::prepare(const KernelSet& kernels, const HostAttendArgs& args, TensorView out, int workers) {
  const KvGeometry& geometry = args.kv.geometry;
  DCHECK(geometry.key_dim >= 1 && geometry.key_dim <= kMaxKeyDim && args.q.cols() == args.heads * geometry.key_dim);
  DCHECK(geometry.value_dim >= 1 && geometry.value_dim <= kMaxValueDim &&
         out.cols() == args.heads * geometry.value_dim);
  DCHECK(layout_of(geometry).fits(geometry.block_tokens));
  kernels_ = &kernels;
  const auto kernel = std::ranges::find(kernels.attentions, encoding_of(geometry).name, &AttentionKernel::encoding);
  CHECK(kernel != kernels.attentions.end());
  kernel_ = kernel->run;
  // As many heads of a page in one task as leave work for everybody: a page is then read from end to end.
  std::int64_t heads = geometry.kv_heads;
  const auto count = [&] {
    std::int64_t tasks = 0;
    for (const SequenceRows& s : args.sequences) {
      const std::int64_t lowest = first_seen(s.first_position, args.window, args.chunk);
      tasks += (splits_up_to(s.kv_length() - 1) - lowest / kSplitTokens) * ((geometry.kv_heads + heads - 1) / heads);
    }
    return tasks;
  };
  while (heads > 1 && count() < kTasksPerWorker * workers) heads = (heads + 1) / 2;
  tasks_.clear();
  groups_.clear();
  std::size_t floats = 0;
  for (const SequenceRows& sequence : args.sequences) add_sequence(args, sequence, out, heads);
  for (Group& g : groups_) {
    g.partials = floats;
    floats += static_cast<std::size_t>(g.n_splits * g.rows.rows() * (2 + geometry.padded_value_dim()));
  }
  partial_bytes_ = floats * sizeof(float);
  if (groups_.size() > counters_) {
    counters_ = groups_.size() * 2;
    unfinished_ = std::make_unique<std::atomic<std::int64_t>[]>(counters_);
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    unfinished_[g].store(groups_[g].n_splits, std::memory_order_relaxed);
  }
  // Longest first; equals in order, so that neighbours in memory are read one after the other.
  std::sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
    if (a.cost != b.cost) return a.cost > b.cost;
    if (a.rows.q != b.rows.q) return a.rows.q < b.rows.q;
    return a.rows.first_split < b.rows.first_split;
  });
}

void AttentionPlan::add_sequence(const HostAttendArgs& args, const SequenceRows& sequence, TensorView out,
                                 std::int64_t heads_together) {
  const KvGeometry& geometry = args.kv.geometry;
  const std::int64_t whole_group = args.groups.size;
  // Query heads of a kv head in a task: all, or equal parts of more than fit.
  const std::int64_t parts = (whole_group + kTaskRows - 1) / kTaskRows, group = (whole_group + parts - 1) / parts;
  const std::int64_t max_tokens = kTaskRows / group;
  // Few rows over many keys (decoding, verification): a task a split, of several heads. Else one task for all splits of
  // as many rows as fit, of one head.
  const bool by_splits = sequence.n_rows <= max_tokens;
  const std::int64_t tokens = std::min(sequence.n_rows, max_tokens);
  const std::int64_t most = by_splits && parts == 1
                                ? std::clamp<std::int64_t>(kTaskRows / (tokens * group), 1, heads_together)
                                : std::int64_t{1};
  for (std::int64_t h = 0, heads = 1; h < geometry.kv_heads; h += heads) {
    const HeadGroups::Queries queries = args.groups.of(h, args.heads);
    heads = 1;
    while (heads < std::min(most, geometry.kv_heads - h) && has_whole_groups(args, h, heads + 1)) ++heads;
    for (std::int64_t t = 0; t < sequence.n_rows; t += tokens) {
      for (std::int64_t first = queries.first; first < queries.last; first += group) {
        AttendRows rows = rows_of(args, sequence, out, t, first);
        rows.n_tokens = std::min(tokens, sequence.n_rows - t);
        rows.group = std::min(group, queries.last - first);
        rows.first_head = h;
        rows.n_heads = heads;
        rows.first_split = rows.lowest_position() / kSplitTokens;
        rows.last_split = splits_up_to(rows.last_position());
        add_rows(rows, by_splits);
      }
    }
  }
}

void AttentionPlan::add_rows(const AttendRows& rows, bool by_splits) {
  const std::int64_t n_splits = rows.last_split - rows.first_split;
  if (!by_splits || n_splits == 1) {
    tasks_.push_back({rows, rows.rows() * (rows.last_position() + 1 - rows.lowest_position()), -1});
    return;
  }
  const auto group = static_cast<std::int32_t>(groups_.size());
  groups_.push_back({rows, 0, n_splits});
  for (std::int64_t split = rows.first_split; split < rows.last_split; ++split) {
    Task task{rows, rows.rows() * kSplitTokens, group};
    task.rows.first_split = split;
    task.rows.last_split = split + 1;
    tasks_.push_back(task);
  }
}

void AttentionPlan::run(std::int64_t index, float* partials, std::byte* scratch) noexcept {
  const Task& task = tasks_[static_cast<std::size_t>(index)];
  AttendRows rows = task.rows;
  rows.scratch = scratch;
  if (task.group < 0) {
    kernel_(rows);
    return;
  }
  const auto g = static_cast<std::size_t>(task.group);
  const Group& group = groups_[g];
  const std::int64_t state = rows.rows() * (2 + rows.kv.geometry.padded_value_dim());
  partials += group.partials;
  rows.partials = partials + (rows.first_split - group.rows.first_split) * state;
  kernel_(rows);
  if (unfinished_[g].fetch_sub(1, std::memory_order_acq_rel) == 1) merge(group, partials);
}

void AttentionPlan::merge(const Group& group, const float* partials) const noexcept {
  const AttendRows& rows = group.rows;
  const KvGeometry& geometry = rows.kv.geometry;
  const std::int64_t value_dim = geometry.value_dim, state = 2 + geometry.padded_value_dim();
  const std::int64_t head_rows = rows.n_tokens * rows.group;
  for (std::int64_t r = 0; r < rows.rows(); ++r) {
    const std::int64_t head = r / head_rows, local = r % head_rows;
    const std::int64_t query_head = head * rows.group + local % rows.group;
    float* out = rows.out + local / rows.group * rows.out_stride + query_head * value_dim;
    const float* sink = rows.sinks != nullptr ? rows.sinks + query_head : nullptr;
    kernels_->merge_splits(partials + r * state, group.n_splits, rows.rows() * state, geometry, sink, out);
  }
}

}  // namespace millrace::backend::cpu
