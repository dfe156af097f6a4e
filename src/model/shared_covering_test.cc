// A covering table of what ranks share: every value of a column meets every value of each other column in some row, and
// each row has the bits of one rank.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>

#include "backend/cpu/kv_encoding.h"
#include "backend/cpu/kv_layout.h"
#include "base/cpu.h"
#include "model/testing/golden_models.h"
#include "model/testing/random_tokens.h"
#include "model/testing/shared_runner.h"

namespace millrace::model {
namespace {

// A row: the number of a value in each column.
enum Column { kGroup, kModel, kEncoding, kLayout, kRows, kColumns };
using Row = std::array<std::size_t, kColumns>;

const std::vector<Ranks> kGroups = {{.shares = {1, 1}},
                                    {.shares = {1, 1, 1}},
                                    {.shares = {1, 1, 1, 1}},
                                    {.shares = {1, 2}, .threads = {3, 1}},
                                    {.shares = {1, 1}, .isas = {"", "avx2"}},
                                    {.shares = {1}, .stages = 2},
                                    {.shares = {1, 1}, .stages = 2}};
constexpr std::size_t kUnlike = 4;  // of kGroups

// Rows of the first step, which has the beginning of two prompts; later ones have a row or two.
const std::vector<std::int64_t> kStepRows = {1, 2, 16, 33, 64, 130};

// Pairs of values that no row has had.
class Pairs {
 public:
  explicit Pairs(const std::array<std::size_t, kColumns>& sizes) {
    for (std::size_t a = 0; a < kColumns; ++a) {
      for (std::size_t b = a + 1; b < kColumns; ++b) {
        for (std::size_t i = 0; i < sizes[a]; ++i) {
          for (std::size_t j = 0; j < sizes[b]; ++j) left_.insert({a, i, b, j});
        }
      }
    }
  }
  bool empty() const { return left_.empty(); }
  // A row for the first pair that is left: in each other column the value with most pairs to the columns before, of
  // those that go together. Nothing, and the pair is given up, where a column has none.
  std::optional<Row> row(const std::array<std::size_t, kColumns>& sizes) {
    const auto [a, i, b, j] = *left_.begin();
    Row row{};
    std::set<std::size_t> chosen = {a, b};
    row[a] = i;
    row[b] = j;
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (chosen.contains(column)) continue;
      std::optional<std::size_t> most;
      for (std::size_t value = 0; value < sizes[column]; ++value) {
        const auto count = [&](const std::set<Pair>& pairs) {
          std::size_t n = 0;
          for (const std::size_t other : chosen) n += pairs.contains(pair(column, value, other, row[other]));
          return n;
        };
        if (count(never_) > 0 || (most && count(left_) <= *most)) continue;
        most = count(left_);
        row[column] = value;
      }
      chosen.insert(column);
      if (most) continue;
      left_.erase({a, i, b, j});
      return std::nullopt;
    }
    return row;
  }
  // The two columns' values in this row do not go together.
  void drop(const Row& row, Column a, Column b) {
    left_.erase(pair(a, row[a], b, row[b]));
    never_.insert(pair(a, row[a], b, row[b]));
  }
  void take(const Row& row) {
    for (std::size_t a = 0; a < kColumns; ++a) {
      for (std::size_t b = a + 1; b < kColumns; ++b) left_.erase({a, row[a], b, row[b]});
    }
  }

 private:
  using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;
  static Pair pair(std::size_t a, std::size_t i, std::size_t b, std::size_t j) {
    return a < b ? Pair{a, i, b, j} : Pair{b, j, a, i};
  }
  std::set<Pair> left_, never_;
};

class CoveringTable : public testing::Test {
 protected:
  CoveringTable() {
    for (const std::string path : golden_models()) {
      const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
      if (auto spec = make_spec(*checkpoint)) {
        models_.push_back(path);
        specs_.push_back(*std::move(spec));
      }
    }
  }

  // Two columns whose values no test can have together: a model has too few heads or layers for a group, or too short
  // a context for the rows.
  std::optional<std::pair<Column, Column>> impossible(const Row& row) const {
    const ModelSpec& spec = specs_[row[kModel]];
    const Ranks& ranks = kGroups[row[kGroup]];
    if (!Shards::make(spec, ranks.shares, ranks.stages)) return std::pair(kGroup, kModel);
    if (kStepRows[row[kRows]] + 3 > spec.context_length) return std::pair(kModel, kRows);
    return std::nullopt;
  }

  void expect_bits_of_one(const Row& row) {
    const std::string& path = models_[row[kModel]];
    Ranks ranks = kGroups[row[kGroup]];
    TestRunner::Options options{.kv = backend::cpu::all_kv_encodings()[row[kEncoding]].name,
                                .layout = backend::cpu::all_kv_layouts()[row[kLayout]].name};
    if (row[kGroup] == kUnlike) {
      if (!has_isa(Isa::kAvx2)) ranks.isas = {"", "scalar"};
      options.precision = backend::MatmulPrecision::kF32;  // bf16 is not rounded to everywhere
    }
    const std::int64_t first = kStepRows[row[kRows]], of_second = first / 3;
    options.max_length = first + 3;
    const std::vector<std::vector<std::int32_t>> sequences = {
        random_tokens(static_cast<std::size_t>(first - of_second) + 3, 1),
        random_tokens(static_cast<std::size_t>(of_second) + 2, 2)};
    std::vector<std::vector<TestRunner::Chunk>> steps = {
        {{0, first - of_second}}, {{0, 1}, {1, 1}}, {{1, 1}}, {{0, 2}}};
    if (of_second > 0) steps.front().push_back({1, of_second});
    const auto expected = TestRunner(path, options).run(sequences, steps);
    std::vector<std::vector<float>> found;
    run_shared(path, options, ranks, [&](TestRunner& runner) { found = runner.run(sequences, steps); });
    for (std::size_t s = 0; s < expected.size(); ++s) {
      ASSERT_EQ(found[s].size(), expected[s].size());
      EXPECT_EQ(std::memcmp(found[s].data(), expected[s].data(), expected[s].size() * sizeof(float)), 0)
          << path << ", group " << row[kGroup] << ", " << options.kv << ", " << options.layout << ", " << first
          << " rows, sequence " << s;
    }
  }

  std::vector<std::string> models_;
  std::vector<ModelSpec> specs_;
};

TEST_F(CoveringTable, HasTheBitsOfOneRankInEveryRow) {
  const std::array<std::size_t, kColumns> sizes = {kGroups.size(), models_.size(),
                                                   backend::cpu::all_kv_encodings().size(),
                                                   backend::cpu::all_kv_layouts().size(), kStepRows.size()};
  Pairs pairs(sizes);
  int compared = 0;
  while (!pairs.empty() && !HasFailure()) {
    const std::optional<Row> row = pairs.row(sizes);
    if (!row) continue;
    if (const auto columns = impossible(*row)) {
      pairs.drop(*row, columns->first, columns->second);
      continue;
    }
    pairs.take(*row);
    ++compared;
    expect_bits_of_one(*row);
  }
  std::printf("%d rows of %zu models\n", compared, models_.size());
}

}  // namespace
}  // namespace millrace::model
