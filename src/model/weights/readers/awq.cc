// AWQ (arXiv:2306.00978) as AutoAWQ, llm-awq and Transformers save it: see awq_reader.h.
#include <algorithm>
#include <cctype>
#include <optional>

#include "model/weights/awq_reader.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kAwqMethod = "awq";

// Older files have it in capitals.
std::optional<AwqRules::Layout> awq_layout(std::string version) {
  std::ranges::transform(version, version.begin(), [](unsigned char c) { return std::tolower(c); });
  if (version == "gemm") return AwqRules::Layout::kGemm;
  if (version == "gemv") return AwqRules::Layout::kGemv;
  if (version == "gemv_fast") return AwqRules::Layout::kGemvFast;
  return std::nullopt;
}

// Throws LoadError (kUnsupported) naming a field whose value cannot be read.
AwqRules awq_rules(const JsonFields& quantization) {
  const std::int64_t bits = quantization.integer({"bits", "w_bit"}).value_or(4);
  if (bits != 4) quantization.unsupported("bits", fmt::format("{} is not supported of AWQ, only 4", bits));
  const std::string version = quantization.text("version").value_or("gemm");
  const auto layout = awq_layout(version);
  if (!layout) {
    quantization.unsupported("version", "'" + version + "' is not supported, only gemm, gemv and gemv_fast");
  }
  const auto group = quantization.integer({"group_size", "q_group_size"});
  return {.layout = *layout, .group_size = checked_group_size(quantization, group.value_or(128))};
}

bool accepts_awq(const JsonFields& quantization, const Checkpoint&) {
  if (quantization.text("quant_method") != kAwqMethod) return false;
  awq_rules(quantization);
  return true;
}

}  // namespace

WeightReaderKind awq() {
  return {.method = kAwqMethod,
          .title = "AWQ",
          .variant = "version",
          .version = 1,
          .accepts = accepts_awq,
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return awq_reader(awq_rules(quantization), checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers
