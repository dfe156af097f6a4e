#include "backend/cpu/step_program.h"

#include "base/check.h"

namespace millrace::backend::cpu {
namespace {
constexpr std::size_t kProgramChunkBytes = std::size_t{1} << 16;
}  // namespace

void* StepProgram::allocate(std::size_t bytes, std::size_t alignment) {
  CHECK(bytes + alignment <= kProgramChunkBytes);
  for (;; ++chunk_, used_ = 0) {
    if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<std::byte[]>(kProgramChunkBytes));
    void* at = chunks_[chunk_].get() + used_;
    std::size_t left = kProgramChunkBytes - used_;
    if (std::align(alignment, bytes, at, left) == nullptr) continue;
    used_ = kProgramChunkBytes - left + bytes;
    return at;
  }
}

PhaseItems::Range* StepProgram::make_ranges(std::int64_t items, std::int64_t grain, int n) {
  const auto bytes = static_cast<std::size_t>(n) * sizeof(PhaseItems::Range);
  auto* ranges = static_cast<PhaseItems::Range*>(allocate(bytes, alignof(PhaseItems::Range)));
  for (int i = 0; i < n; ++i) {
    const WorkerTeam::Piece own = WorkerTeam::piece(items, grain, i, n);
    auto* range = new (ranges + i) PhaseItems::Range;
    range->next.store(own.begin, std::memory_order_relaxed);
    range->end = own.end;
  }
  return ranges;
}

void StepProgram::work(int worker) noexcept {
  for (Phase* phase : phases_) {
    PhaseItems items(phase->ranges, phase->n_ranges, phase->grain, phase->largest);
    std::int64_t done = 0;
    for (std::int64_t begin, end; items.next(worker, begin, end);) {
      phase->entry(phase->body, begin, end, worker);
      done += end - begin;
    }
    if (done > 0) phase->done.fetch_add(done, std::memory_order_acq_rel);
    for (SpinWait spin; phase->done.load(std::memory_order_acquire) < phase->items;) spin.wait();
  }
}

void StepProgram::clear() {
  phases_.clear();
  chunk_ = used_ = 0;
}

StepProgram* StepPrograms::begin() {
  StepProgram* free = nullptr;
  for (const auto& program : all_) {
    if (program->idle()) free = program.get();
  }
  if (free == nullptr) free = all_.emplace_back(std::make_unique<StepProgram>(workers_)).get();
  free->clear();
  return free;
}

}  // namespace millrace::backend::cpu
