#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "backend/backend.h"

namespace millrace::model {

// Every rank gives `own`, of sizes[rank] bytes, multiples of 4, and gets all of them, one behind the other;
// `leader_only`: only rank 0 does, others get nothing of use. All ranks must call it at the same point. Throws
// LoadError as Backend::synchronize() does.
std::vector<std::byte> gather_of_ranks(backend::Backend& backend, std::span<const std::size_t> sizes,
                                       std::span<const std::byte> own, bool leader_only = false);

// The same for everybody, of a value that is bytes and has the same size everywhere.
template <typename T>
std::vector<T> gather_of_ranks(backend::Backend& backend, const T& own) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(backend.ranks()), sizeof(T));
  const std::vector<std::byte> bytes = gather_of_ranks(backend, sizes, std::as_bytes(std::span(&own, 1)));
  std::vector<T> all(sizes.size());
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

// Of as many numbers on every rank, for everybody: the sums.
std::vector<std::int64_t> sums_of_ranks(backend::Backend& backend, std::span<const std::int64_t> own);

}  // namespace millrace::model
