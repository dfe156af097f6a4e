#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/operations.h"
#include "model/adapters/adapter.h"

namespace millrace::model {

// Rows of a step with one adapter. Rows with several have an entry for each; they are added in the order of the list.
struct AdapterRange {
  std::int64_t first_row = 0, n_rows = 0;
  const Adapter* adapter = nullptr;
  float scale = 1.0f;
};

// The adapters of a step's rows, by product. Lists stay until the next begin(). One thread.
class StepAdapters {
 public:
  // Begins a step of a model that has so many products.
  void begin(std::span<const AdapterRange> ranges, std::int64_t products);
  bool empty() const noexcept { return ranges_.empty(); }
  // What they add to the product of that place.
  std::span<const backend::AdapterRows> of(std::int64_t place);
  // The same where the product computes only these rows, which ascend; counted in them.
  std::span<const backend::AdapterRows> of(std::int64_t place, std::span<const std::int64_t> rows);

 private:
  std::span<const AdapterRange> ranges_;
  std::vector<std::vector<backend::AdapterRows>> lists_;  // by place
};

}  // namespace millrace::model
