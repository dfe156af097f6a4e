#pragma once

#include "model/ranks/rank_part.h"
#include "model/transformer.h"

namespace millrace::model {

// A transformer as the part of a rank behind rank 0.
class TransformerPart final : public RankPart {
 public:
  // Model and backend must outlive it.
  TransformerPart(Transformer& model, backend::Backend& backend) : model_(model), backend_(backend) {}
  Result<std::unique_ptr<RankPages>> make_pages(const RankStore& store) override;
  RankReport report(bool checks_residual) override { return model_.report(checks_residual); }
  void set_int8x2(std::span<const std::string> weights) override { model_.set_int8x2(weights); }
  void start_rounding_statistics() override { model_.start_rounding_statistics(); }
  std::vector<backend::RoundingStatistics> take_rounding_statistics() override {
    return model_.take_rounding_statistics();
  }

 private:
  Transformer& model_;
  backend::Backend& backend_;
};

}  // namespace millrace::model
