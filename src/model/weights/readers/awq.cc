// AWQ (arXiv:2306.00978) as AutoAWQ, llm-awq and Transformers save it: see awq_reader.h.
#include "model/weights/awq_reader.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kAwqMethod = "awq";

bool accepts_awq(const JsonFields& quantization, const Checkpoint&) {
  if (quantization.text("quant_method") != kAwqMethod) return false;
  const std::int64_t bits = quantization.integer({"bits", "w_bit"}).value_or(4);
  if (bits != 4) quantization.unsupported("bits", fmt::format("{} is not supported of AWQ, only 4", bits));
  const std::string version = quantization.text("version").value_or("gemm");
  if (version == "gemm" || version == "GEMM" || version == "gemv" || version == "GEMV") return true;
  quantization.unsupported("version", "'" + version + "' is not supported, only gemm and gemv; use a gemm file of it");
}

std::unique_ptr<WeightReader> open_awq(const JsonFields& quantization, const Checkpoint& checkpoint) {
  const std::string version = quantization.text("version").value_or("gemm");
  const auto group = quantization.integer({"group_size", "q_group_size"});
  return awq_reader({.gemv = version == "gemv" || version == "GEMV", .group_size = group.value_or(128)}, checkpoint);
}

}  // namespace

WeightReaderKind awq() { return {.method = kAwqMethod, .accepts = accepts_awq, .open = open_awq}; }

}  // namespace millrace::model::weights::readers
