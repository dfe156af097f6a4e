#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "kv/page_device.h"
#include "model/batch_input.h"
#include "model/ranks/command_check.h"
#include "model/ranks/rank_answers.h"
#include "model/ranks/rank_commands.h"

namespace millrace::model {

// A rank's part of the pages of a store, and of steps over them.
class RankPages {
 public:
  virtual ~RankPages() = default;
  virtual kv::PageDevice& device() noexcept = 0;
  // What a step may say, but for StepLimits::stages.
  virtual StepLimits limits() const noexcept = 0;
  // Runs a step that is within the limits; what rank 0 wants of it goes to the input's sink. Throws LoadError:
  // kUnavailable where another rank has ended, kResourceExhausted.
  virtual void compute(const BatchInput& input) = 0;
};

// A rank's part of a model, as far as RankFollower needs it. In production it is a transformer (transformer_part.h);
// the simulator has one without numbers. One thread.
class RankPart {
 public:
  virtual ~RankPart() = default;
  // The pages must not outlive the part. Errors as of kv::KvStore::create().
  virtual Result<std::unique_ptr<RankPages>> make_pages(const RankStore& store) = 0;
  // See Transformer::report(), of the last step.
  virtual RankReport report(bool checks_residual) = 0;
  virtual void set_int8x2(std::span<const std::string> weights) = 0;
  virtual void start_rounding_statistics() = 0;
  virtual std::vector<backend::RoundingStatistics> take_rounding_statistics() = 0;
};

}  // namespace millrace::model
