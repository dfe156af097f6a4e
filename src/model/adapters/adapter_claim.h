#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "model/adapters/adapter_store.h"

namespace millrace::model {

// The adapters of one request that waits for its turn. It holds none of them before take() gives them, so those that
// wait keep nothing in memory. One thread takes; the destructor withdraws what was asked for, and may run on any.
class AdapterClaim {
 public:
  // The versions must have been read before (AdapterStore::known()). The store must outlive take().
  AdapterClaim(std::shared_ptr<AdapterStore> store, std::vector<AdapterRef> wanted)
      : store_(std::move(store)), wanted_(std::move(wanted)) {}
  AdapterClaim(const AdapterClaim&) = delete;
  AdapterClaim& operator=(const AdapterClaim&) = delete;

  // All of them in the order of `wanted`, or why they cannot be had, as AdapterStore::acquire() says; then it is not
  // called again. Nothing: not now. `ask` has them brought into memory, after what was asked for before. Does not wait.
  std::optional<Result<AdapterStore::Leases>> take(bool ask);
  // Asks no longer, and gives up what has been brought in for it.
  void withdraw() noexcept { answer_ = nullptr; }

 private:
  struct Answer {
    std::mutex mutex;
    std::optional<Result<AdapterStore::Leases>> leases;
  };
  const std::shared_ptr<AdapterStore> store_;
  const std::vector<AdapterRef> wanted_;
  std::shared_ptr<Answer> answer_;  // null: not asked yet
};

}  // namespace millrace::model
