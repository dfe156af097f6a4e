#include "backend/cpu/activation_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

// Cuts memory into arrays that begin on cache lines; counts only, when there is none.
class Layout {
 public:
  explicit Layout(std::byte* memory) : memory_(memory) {}
  template <typename T>
  T* take(std::int64_t count) {
    T* at = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return at;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

constexpr ActivationType kInt8Types[] = {ActivationType::kInt8, ActivationType::kInt8Block, ActivationType::kInt8Row};

}  // namespace

std::uint64_t new_contents() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool ActivationForm::can_be_cut(std::span<const std::int64_t> borders) const noexcept {
  return types == 1u << static_cast<int>(ActivationType::kInt8) && orders.size() == 1 && orders[0].empty() &&
         std::ranges::all_of(borders, [](std::int64_t border) { return border % kGroup == 0; });
}

std::size_t ActivationForm::cut_bytes(std::int64_t n) const noexcept {
  return static_cast<std::size_t>(n / kGroup) * sizeof(Int8Group) * (remainder ? 2 : 1);
}

ActivationRows::ActivationRows(const ActivationForm& form, std::int64_t rows, std::byte* memory) noexcept
    : k_(form.k), rows_(rows), stored_(rows), orders_(form.orders) {
  Layout layout(memory);
  if (form.wants(ActivationType::kF32)) f32_ = layout.take<float>(rows * k_);
  if (form.wants(ActivationType::kBf16)) bf16_ = layout.take<std::uint16_t>(rows * k_);
  for (const ActivationType type : kInt8Types) {
    if (!form.wants(type)) continue;
    Int8Rows& of_type = int8_[index_of(type)];
    of_type.groups = layout.take<Int8Group>(rows * (k_ / kGroup));
    if (form.remainder) of_type.remainder = layout.take<Int8Group>(rows * (k_ / kGroup));
  }
  if (form.waits_for_rows()) staged_ = layout.take<float>(rows * k_);
  bytes_of_order_ = layout.used();
}

// Calls visit(array) for each array that is there.
template <typename Rows, typename Visit>
void ActivationRows::for_arrays(Rows& rows, const Visit& visit) {
  if (rows.f32_ != nullptr) visit(rows.f32_);
  if (rows.bf16_ != nullptr) visit(rows.bf16_);
  if (rows.staged_ != nullptr) visit(rows.staged_);
  for (auto& of_type : rows.int8_) {
    if (of_type.groups != nullptr) visit(of_type.groups);
    if (of_type.remainder != nullptr) visit(of_type.remainder);
  }
}

ActivationRows ActivationRows::of_order(std::size_t order) const noexcept {
  ActivationRows one = *this;
  one.orders_ = orders_.subspan(order, 1);
  for_arrays(one, [&](auto*& array) {
    std::byte* first = reinterpret_cast<std::byte*>(array);
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(first + order * bytes_of_order_);
  });
  return one;
}

ActivationRows ActivationRows::with_contents(std::uint64_t number) const noexcept {
  ActivationRows named = *this;
  named.contents_ = number;
  return named;
}

void ActivationRows::store_row(const KernelSet& kernels, std::int64_t row, const float* x) const noexcept {
  for (std::size_t i = 0; i < orders_.size(); ++i) of_order(i).store_in_order(kernels, row, x, orders_[i]);
}

void ActivationRows::store_in_order(const KernelSet& kernels, std::int64_t row, const float* x,
                                    std::span<const std::int32_t> columns) const noexcept {
  if (columns.empty()) return store(kernels, row, 0, x, k_);
  float group[kGroup];
  for (std::int64_t column = 0; column < k_; column += kGroup) {
    for (std::int64_t i = 0; i < kGroup; ++i) group[i] = x[columns[static_cast<std::size_t>(column + i)]];
    put(kernels, row, column, group, kGroup);
  }
  finish_rows(kernels, row, row + 1);
}

void ActivationRows::put(const KernelSet& kernels, std::int64_t row, std::int64_t column, const float* x,
                         std::int64_t n) const noexcept {
  if (staged_ == nullptr) return store(kernels, row, column, x, n);
  std::memcpy(staged_ + row * k_ + column, x, static_cast<std::size_t>(n) * sizeof(float));
}

void ActivationRows::finish_rows(const KernelSet& kernels, std::int64_t begin, std::int64_t end) const noexcept {
  for (std::int64_t r = begin; staged_ != nullptr && r < end; ++r) store(kernels, r, 0, staged_ + r * k_, k_);
}

// Pieces are whole runs.
void ActivationRows::store(const KernelSet& kernels, std::int64_t row, std::int64_t column, const float* x,
                           std::int64_t n) const noexcept {
  const std::int64_t at = row * k_ + column;
  if (f32_ != nullptr) std::memcpy(f32_ + at, x, static_cast<std::size_t>(n) * sizeof(float));
  if (bf16_ != nullptr) kernels.to_bf16(x, n, bf16_ + at);
  const Activations all = int8_view(nullptr, 0, rows_);
  const std::int64_t step = all.int8_step(row), group = all.int8_at(row) + column / kGroup * step;
  for (const ActivationType type : kInt8Types) {
    const Int8Rows& of_type = int8(type);
    if (of_type.groups == nullptr) continue;
    kernels.quantize(x, n, type, of_type.groups + group, step);
    if (of_type.remainder == nullptr) continue;
    kernels.quantize_remainder(x, n, type, of_type.groups + group, of_type.remainder + group, step);
  }
}

Activations ActivationRows::int8_view(const Int8Group* groups, std::int64_t first_row,
                                      std::int64_t rows) const noexcept {
  const std::int64_t tile = first_row / kTileRows * kTileRows;
  DCHECK(first_row == tile || first_row + rows <= tile + kTileRows);
  Activations view;
  view.rows = rows;
  view.k = k_;
  view.groups = groups;
  if (groups != nullptr) view.groups += view.int8_at(first_row);
  view.stored_rows = stored_ - tile;
  view.contents = contents_;
  return view;
}

ActivationRows ActivationRows::part(std::int64_t first_row, std::int64_t rows) const noexcept {
  ActivationRows part = *this;
  const Activations groups = int8_view(nullptr, first_row, rows);
  part.rows_ = rows;
  part.stored_ = groups.stored_rows;
  for_arrays(part, [&](auto*& array) {
    constexpr bool kGroups = std::is_same_v<std::remove_reference_t<decltype(*array)>, Int8Group>;
    array += kGroups ? groups.int8_at(first_row) : first_row * k_;
  });
  return part;
}

void ActivationRows::copy_row(std::int64_t row, const ActivationRows& from, std::int64_t from_row) const noexcept {
  const auto n = static_cast<std::size_t>(k_);
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    const ActivationRows to = of_order(i), of = from.of_order(i);
    if (f32_ != nullptr) std::memcpy(to.f32_ + row * k_, of.f32_ + from_row * k_, n * sizeof(float));
    if (bf16_ != nullptr) std::memcpy(to.bf16_ + row * k_, of.bf16_ + from_row * k_, n * sizeof(std::uint16_t));
    const Activations here = to.int8_view(nullptr, 0, rows_), there = of.int8_view(nullptr, 0, of.rows_);
    const std::int64_t at = here.int8_at(row), step = here.int8_step(row);
    const std::int64_t from_at = there.int8_at(from_row), from_step = there.int8_step(from_row);
    const auto copy = [&](Int8Group* out, const Int8Group* in) {
      for (std::int64_t g = 0; out != nullptr && g < k_ / kGroup; ++g) out[at + g * step] = in[from_at + g * from_step];
    };
    for (const ActivationType type : kInt8Types) {
      copy(to.int8(type).groups, of.int8(type).groups);
      copy(to.int8(type).remainder, of.int8(type).remainder);
    }
  }
}

template <typename Copy>
void ActivationRows::for_groups(std::int64_t row, std::int64_t first, std::int64_t n, const Copy& copy) const noexcept {
  const Activations all = int8_view(nullptr, 0, rows_);
  const std::int64_t step = all.int8_step(row), at = all.int8_at(row) + first / kGroup * step;
  const Int8Rows& of_type = int8(ActivationType::kInt8);
  for (std::int64_t g = 0; g < n / kGroup; ++g) copy(of_type.groups + at + g * step);
  for (std::int64_t g = 0; of_type.remainder != nullptr && g < n / kGroup; ++g) copy(of_type.remainder + at + g * step);
}

void ActivationRows::save_columns(std::int64_t row, std::int64_t first, std::int64_t n, std::byte* to) const noexcept {
  for_groups(row, first, n, [&](const Int8Group* group) {
    std::memcpy(to, group, sizeof(Int8Group));
    to += sizeof(Int8Group);
  });
}

void ActivationRows::load_columns(std::int64_t row, std::int64_t first, std::int64_t n,
                                  const std::byte* from) const noexcept {
  for_groups(row, first, n, [&](Int8Group* group) {
    std::memcpy(group, from, sizeof(Int8Group));
    from += sizeof(Int8Group);
  });
}

Activations ActivationRows::view(ActivationType type, std::int64_t first_row, std::int64_t rows) const noexcept {
  if (is_int8(type)) return int8_view(int8(type).groups, first_row, rows);
  const auto from = [](auto* array, std::int64_t offset) { return array == nullptr ? nullptr : array + offset; };
  Activations view = int8_view(nullptr, first_row, rows);
  view.f32 = from(f32_, first_row * k_);
  view.f32_stride = k_;
  view.bf16 = from(bf16_, first_row * k_);
  return view;
}

Activations ActivationRows::remainder(ActivationType type, std::int64_t first_row, std::int64_t rows) const noexcept {
  return int8_view(int8(type).remainder, first_row, rows);
}

}  // namespace millrace::backend::cpu
