// The difference of a base and the base with an adapter merged into it is that adapter.

#include "model/adapters/adapter_export.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "backend/cpu/cpu_backend.h"
#include "base/memory_env.h"
#include "model/adapters/load_adapter.h"
#include "model/adapters/merged_checkpoint.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

const fs::path kTinyModels = fs::path(MILLRACE_TEST_DATA) / "../golden";

std::unique_ptr<checkpoint::Checkpoint> open_model(const fs::path& path) {
  return checkpoint::open_checkpoint(Env::system(), path).or_throw();
}

// All matrices in f32, so that nothing is rounded.
std::unique_ptr<checkpoint::Checkpoint> tuned_model(const fs::path& base, const std::vector<std::string>& adapters) {
  auto checkpoint = open_model(base);
  std::vector<ScaledAdapter> scaled;
  for (const std::string& name : adapters) scaled.push_back({kTinyModels / "adapters" / name});
  const TensorFormats f32 = [](const checkpoint::RawTensor& tensor) {
    return tensor.shape.rank() == 2 ? quant::find_format("f32") : nullptr;
  };
  static_cast<void>(merge_adapters(
      Env::system(), *checkpoint, backend::cpu::make_cpu_backend({.threads = 1}).or_throw(), scaled, {.formats = f32}));
  return checkpoint;
}

double largest_difference(const std::vector<float>& found, const std::vector<float>& expected) {
  double largest = 0.0, error = 0.0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    error = std::max(error, std::abs(static_cast<double>(found[i]) - expected[i]));
    largest = std::max(largest, static_cast<double>(std::abs(expected[i])));
  }
  return error / largest;
}

struct ExportCase {
  const char *adapter, *base;
  std::int64_t rank;
};
std::ostream& operator<<(std::ostream& out, const ExportCase& one) { return out << one.adapter << " of " << one.base; }

class ExportedDifference : public testing::TestWithParam<ExportCase> {};

TEST_P(ExportedDifference, IsTheAdapterThatWasMerged) {
  const fs::path base = kTinyModels / GetParam().base, adapter = kTinyModels / "adapters" / GetParam().adapter;
  WorkerTeam team(2);
  const auto before = open_model(base);
  const auto tuned = tuned_model(base, {GetParam().adapter});
  const ExportedAdapter made = export_adapter(*before, *tuned, {.rank = GetParam().rank}, team);
  for (const auto& [name, kind] : made.kinds) EXPECT_LE(kind.error(), 1e-4) << name;
  EXPECT_TRUE(made.left_out.empty()) << made.left_out.front();

  MemoryEnv env;
  env.files = {{"a/adapter_config.json", made.files.config}, {"a/adapter_model.safetensors", made.files.weights}};
  const GoldenLogits golden = read_golden(adapter);
  TestRunner runner(base, {.precision = backend::MatmulPrecision::kF32});
  const auto loaded = AdapterLoader(runner.checkpoint(), runner.transformer(), runner.backend())
                          .load(env, "a", {.type = AdapterType::kF32});
  runner.set_adapter(loaded.get());
  EXPECT_LE(largest_difference(runner.run_whole(golden.tokens), golden.logits), 1e-4);
}

// Fused modules, [in, out] as GPT-2 has it, rotary pairs of GGUF, heads in turns, an odd rank.
INSTANTIATE_TEST_SUITE_P(
    Adapters, ExportedDifference,
    testing::Values(ExportCase{"llama_all", "tiny/llama", 6}, ExportCase{"llama_all", "tiny/llama/model.gguf", 6},
                    ExportCase{"llama_odd_rank", "tiny/llama", 3}, ExportCase{"llama_head", "tiny/llama", 4},
                    ExportCase{"gpt2", "tiny/gpt2", 4}, ExportCase{"gpt2", "tiny/gpt2/model.gguf", 4},
                    ExportCase{"phi3", "families/phi3", 4}, ExportCase{"phi3", "families/phi3/model.gguf", 4},
                    ExportCase{"bloom", "families/bloom", 4}, ExportCase{"falcon", "families/falcon", 4},
                    ExportCase{"codegen", "families/codegen", 2},
                    ExportCase{"gpt_neox", "families/gpt_neox/model.gguf", 4}));

const fs::path kTinyLlama = kTinyModels / "tiny/llama";

TEST(AdapterExport, LeavesOutWhatARankDoesNotHold) {
  WorkerTeam team(1);
  const auto base = open_model(kTinyLlama), tuned = tuned_model(kTinyLlama, {"llama_all", "llama_q_v"});
  double before = 1.0;
  for (const std::int64_t rank : {2, 4, 8}) {
    const ExportedAdapter made = export_adapter(*base, *tuned, {.rank = rank, .kinds = {"q_proj"}}, team);
    EXPECT_EQ(made.modules, 2);
    ASSERT_EQ(made.kinds.size(), 1u);
    const double error = made.kinds.at("q_proj").error();
    EXPECT_LT(error, before);
    EXPECT_GT(error, 1e-3);
    before = error;
    EXPECT_EQ(made.left_out.size(), 12u) << "the other linear layers";
  }
}

TEST(AdapterExport, LeavesOutLayersThatAreEqual) {
  WorkerTeam team(1);
  const auto base = open_model(kTinyLlama), tuned = tuned_model(kTinyLlama, {"llama_one_layer"});
  const ExportedAdapter made = export_adapter(*base, *tuned, {.rank = 4}, team);
  EXPECT_EQ(made.modules, 14) << "both layers of each kind";
  const auto of_kinds = tuned_model(kTinyLlama, {"llama_q_v"});
  EXPECT_EQ(export_adapter(*base, *of_kinds, {.rank = 4}, team).kinds.size(), 2u);
}

TEST(AdapterExport, RefusesWhatIsNoTunedBase) {
  WorkerTeam team(1);
  const auto base = open_model(kTinyLlama), other = open_model(kTinyModels / "tiny/gpt2");
  const auto expect_refused = [&](const checkpoint::Checkpoint& tuned, const ExportOptions& options,
                                  const char* param) {
    try {
      static_cast<void>(export_adapter(*base, tuned, options, team));
      ADD_FAILURE() << "not refused";
    } catch (const LoadError& failure) {
      EXPECT_EQ(failure.error().param, param) << failure.what();
    }
  };
  expect_refused(*other, {}, "tuned");
  expect_refused(*open_model(kTinyLlama), {}, "tuned");
  expect_refused(*base, {.kinds = {"qproj"}}, "modules");
}

}  // namespace
}  // namespace millrace::model
