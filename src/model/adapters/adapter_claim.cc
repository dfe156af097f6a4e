#include "model/adapters/adapter_claim.h"

namespace millrace::model {

using Leases = AdapterStore::Leases;

std::optional<Result<Leases>> AdapterClaim::take(bool ask) {
  if (answer_ != nullptr) {
    {
      const std::lock_guard lock(answer_->mutex);
      if (answer_->leases) return std::exchange(answer_->leases, std::nullopt);
    }
    auto leases = store_->take_resident(wanted_, false);  // another's ask has brought them in
    if (!leases) return std::nullopt;
    answer_ = nullptr;  // withdraws it
    return Result<Leases>(*std::move(leases));
  }
  if (auto leases = store_->take_resident(wanted_)) return Result<Leases>(*std::move(leases));
  if (!ask) return std::nullopt;
  answer_ = std::make_shared<Answer>();
  const std::weak_ptr<Answer> later = answer_;
  const auto then = [later](Result<Leases> leases) {
    const auto answer = later.lock();
    if (answer == nullptr) return;
    const std::lock_guard lock(answer->mutex);
    answer->leases = std::move(leases);
  };
  return store_->acquire(wanted_, then, [later] { return later.expired(); });
}

}  // namespace millrace::model
