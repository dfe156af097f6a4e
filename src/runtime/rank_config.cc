#include "runtime/rank_config.h"

#include <algorithm>
#include <cmath>

#include "base/cpu_quota.h"

namespace millrace::runtime {

Result<void> RankConfig::validate() const {
  if (tensor_parallel_size < 1 || tensor_parallel_size > kMaxRanks) {
    return make_error(ErrorCode::kInvalidArgument, "tensor-parallel-size",
                      "tensor-parallel-size is {}: must be from 1 to {}", tensor_parallel_size, kMaxRanks);
  }
  if (!tensor_parallel_shares.empty() && std::ssize(tensor_parallel_shares) != tensor_parallel_size) {
    return make_error(ErrorCode::kInvalidArgument, "tensor-parallel-shares",
                      "tensor-parallel-shares has {} numbers: must be one for each of the {} ranks",
                      tensor_parallel_shares.size(), tensor_parallel_size);
  }
  for (const double share : tensor_parallel_shares) {
    if (std::isfinite(share) && share > 0.0) continue;
    return make_error(ErrorCode::kInvalidArgument, "tensor-parallel-shares",
                      "tensor-parallel-shares has {}: must be numbers above 0", share);
  }
  return {};
}

std::vector<double> RankConfig::shares() const {
  return tensor_parallel_shares.empty() ? std::vector<double>(static_cast<std::size_t>(tensor_parallel_size), 1.0)
                                        : tensor_parallel_shares;
}

Result<int> RankConfig::threads_of_rank(int threads) const {
  if (tensor_parallel_size == 1) return threads;
  const int usable = usable_threads(), each = threads > 0 ? threads : std::max(1, usable / tensor_parallel_size);
  if (each * tensor_parallel_size > usable && !allow_oversubscription) {
    return make_error(ErrorCode::kInvalidArgument, "tensor-parallel-size",
                      "tensor-parallel-size is {}: {} threads for each rank are more than the {} processors that this "
                      "process may use. Ranks wait for each other many times in each step, and one that has no "
                      "processor keeps all waiting: steps were 70 times as long; --allow-oversubscription does it "
                      "nevertheless",
                      tensor_parallel_size, each, usable);
  }
  return each;
}

}  // namespace millrace::runtime
