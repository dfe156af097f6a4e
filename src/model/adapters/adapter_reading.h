#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/low_rank.h"
#include "model/adapters/adapter.h"
#include "model/adapters/adapter_files.h"
#include "model/adapters/adapter_options.h"
#include "model/adapters/expert_matrices.h"
#include "model/adapters/kept_matrices.h"
#include "model/weight_loader.h"

namespace millrace::model {

// What one adapter changes of a model, while its files are read: product by product, in the model's order of rows and
// columns. Of a model that ranks share it is what changes this rank's rows; the digest and what is refused are those of
// the whole, on every rank. All functions throw LoadError naming the tensor.
class AdapterReading {
 public:
  // All must outlive the reading. `spec` names the modules as the adapter does; A and B are stored outputs first, whole
  // weights as `whole` says. `vocabulary`: the rows of the embedding and the head that this rank has.
  AdapterReading(const AdapterFiles& files, const ModelSpec& spec, const ModelSpec& whole,
                 const AdapterOptions& options, RowRange vocabulary)
      : files_(files),
        options_(options),
        spec_(spec),
        loader_(files.tensors, spec),
        whole_(files.tensors, whole),
        vocabulary_(vocabulary) {}

  // Whether the adapter has anything for a module.
  bool has(const std::string& module) const;
  // Adds what the adapter has for a product of these weights, as its tensors call them (null: not among them); nothing
  // where it has none.
  void add(const Product& product, std::span<const BlockWeight* const> stacked, std::int64_t layer);
  // The same for the matrix of the embedding, and for the head; `tied`: this is the embedding's, and takes its changed
  // rows too.
  void add_embedding(const backend::Linear& linear);
  void add_head(const backend::Linear& linear, bool tied);
  // In their place where another rank has the layer, or what is outside: the adapter may have anything for it, of which
  // that rank says what is wrong. `linear`: any of the model's.
  void pass_layer(std::int64_t layer, const backend::Linear& linear);
  void pass_outer() { loader_.mark_outer_used(); }
  // PEFT saves a copy of the base's head and embedding where it adapts one of them: checks that it is one of this
  // base's.
  void pass_copy(const std::string& module, WeightLoader& base, const std::string& base_name);
  // Throws if the files have a tensor that was not asked for.
  void check_all_used() const { loader_.check_all_used(); }

  std::vector<std::int64_t> places;  // of `sources`
  std::vector<backend::LowRankSource> sources;
  std::vector<backend::RowDeltaSource> of_embedding;  // one or none
  bool changes_embedding = false;                     // of any rank
  AdapterSummary summary;
  KeptMatrices kept;

 private:
  // A stacked weight of a product.
  struct Part {
    const Product& product;
    const backend::Linear& base;
    std::int64_t stacked;
    const BlockWeight& weight;
    std::string module;
    std::int64_t first_row;  // in the product
    RowRange own;            // the rows of it that are there
    std::int64_t rows() const noexcept { return weight.rows + weight.zero_rows; }
  };
  AdapterType type_for(const backend::Linear& linear) const;
  const quant::QuantFormat& dense_format(const backend::Linear& linear) const;
  void add_part(backend::LowRankSource& source, const Part& part);
  void add_low_rank(backend::LowRankSource& source, const Part& part, backend::LowRankSource::Expand& expand);
  void add_whole(backend::LowRankSource& source, const Part& part);
  void add_experts(backend::LowRankSource& source, const Part& part);
  // A and B of a part for all experts, of one parameter or apart; of rank 0: there are none. `scales`: of experts.
  ExpertMatrices read_experts(const Part& part, std::vector<float>& scales);
  void add_biases(const Part& part, backend::LowRankSource::Expand& expand);
  // `b`: the whole B. Returns that of the part's own rows.
  std::vector<float> apply_dora(const Part& part, const std::vector<float>& a, const backend::WeightSource& b,
                                backend::LowRankSource::Expand& expand);
  void add_changed_rows(const backend::Linear& linear, const std::string& module, backend::LowRankSource& source);
  // The rank of a module with these tensors, which must be the configured one, and allowed; of each of its experts.
  std::int64_t rank_of(const std::string& module, const std::string& a_name, const std::string& b_name,
                       std::int64_t experts = 1);
  // Values for the rows of a part, of all ranks, in the product's order.
  std::vector<float> row_vector(const std::string& name, const Part& part);
  // The rows that the adapter has of the embedding's or the head's, less the base's: those of this rank, so numbered.
  struct ChangedRows {
    std::vector<std::int32_t> ids;  // ascending
    std::vector<float> values;      // [ids, width]
  };
  ChangedRows changed_rows(const backend::Linear& linear, const std::string& module);
  // Some rows of a module's whole matrix less those of the base from that row on.
  backend::WeightSource difference(const backend::WeightSource& rows, const backend::Linear& base,
                                   std::int64_t first_row) const;
  void count(const backend::Linear& linear, std::int64_t rank);

  const AdapterFiles& files_;
  const AdapterOptions& options_;
  const ModelSpec& spec_;
  WeightLoader loader_, whole_;
  RowRange vocabulary_;
  // The As of the product being added, by module: their numbers and, where DoRA needs them, values.
  struct ReadA {
    std::int64_t number = 0;
    std::vector<float> values;
  };
  std::map<std::string, ReadA> shrinks_;
};

}  // namespace millrace::model
