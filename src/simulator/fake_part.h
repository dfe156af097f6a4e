#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "model/ranks/rank_part.h"
#include "simulator/fake_heads.h"
#include "simulator/fake_step.h"

namespace millrace::simulator {

// The states of a step's rows as far as this stage and those before it have them: `own` is what this rank's heads add,
// `before` what stages before add. Exchanges the parts of the stage's ranks. Throws LoadError.
std::vector<std::uint64_t> add_ranks(comm::Communicator& group, std::vector<std::uint64_t> own,
                                     const std::vector<std::uint64_t>& before);
// Bytes of Communicator::memory() that this needs for so many rows.
std::size_t exchange_bytes(int stage_ranks, std::int64_t rows);

// What a rank has of the fake model, and what the model's ranks must agree on besides.
struct FakeModel {
  std::int64_t vocab_size = 0, max_length = 0, window = 0;
  std::vector<std::string> int8x2 = {};  // which weights must be so kept, else all states are wrong
};

class FakePages;

// The part of the fake model that a rank behind rank 0 has.
class FakePart final : public model::RankPart {
 public:
  // `model` and `group` must outlive it. on_step() gets the number of each step that this rank begins.
  FakePart(const FakeModel& model, FakeHeads heads, comm::Communicator& group,
           std::function<void(std::uint64_t number)> on_step)
      : model_(model), heads_(std::move(heads)), group_(group), on_step_(std::move(on_step)) {}

  Result<std::unique_ptr<model::RankPages>> make_pages(const model::RankStore& store) override;
  model::RankReport report(bool checks_residual) override;
  void set_int8x2(std::span<const std::string> weights) override { int8x2_.assign(weights.begin(), weights.end()); }
  void start_rounding_statistics() override { counted_rows_ = 0; }
  std::vector<backend::RoundingStatistics> take_rounding_statistics() override;

  // The pages of the store that was made last; null: there are none.
  FakeDevice* device() noexcept { return device_; }

 private:
  friend class FakePages;
  void compute(const model::BatchInput& input, FakeDevice& device);
  void answer(const model::BatchInput& input, const FakeResults& results);

  const FakeModel& model_;
  FakeHeads heads_;
  comm::Communicator& group_;
  std::function<void(std::uint64_t)> on_step_;
  std::vector<std::string> int8x2_;
  std::uint64_t residual_key_ = 0;
  std::int64_t counted_rows_ = 0;
  FakeDevice* device_ = nullptr;
};

// The rounding statistics of the fake model's only weight, on a rank with these heads: an output for each row and each
// of its query heads, of which a third has moved.
backend::RoundingStatistics count_rounding(const FakeHeads& heads, std::int64_t rows);

}  // namespace millrace::simulator
