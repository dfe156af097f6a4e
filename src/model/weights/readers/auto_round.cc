// AutoRound (arXiv:2309.05516): layouts of GPTQ or AWQ under the names auto_round:auto_gptq and auto_round:auto_awq.
// Its own packing, auto_round, is GPTQ's with zero points as they are.
#include "model/weights/awq_reader.h"
#include "model/weights/gptq_tensors.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kAutoRoundMethods[] = {"auto-round", "intel/auto-round"};

std::string packing_of(const JsonFields& quantization) {
  std::string packing =
      quantization.text("packing_format").value_or(quantization.text("backend").value_or("auto_round"));
  if (packing.starts_with("auto_round:")) packing = packing.substr(packing.find(':') + 1);
  return packing;
}

bool accepts_auto_round(const JsonFields& quantization, const Checkpoint&) {
  const auto method = quantization.text("quant_method");
  if (method != kAutoRoundMethods[0] && method != kAutoRoundMethods[1]) return false;
  const std::string packing = packing_of(quantization);
  const bool known =
      packing.find("awq") != std::string::npos || packing.find("gptq") != std::string::npos || packing == "auto_round";
  if (!known) {
    quantization.unsupported("packing_format", "'" + packing +
                                                   "' is not supported, only auto_round:auto_gptq, "
                                                   "auto_round:auto_awq and auto_round");
  }
  return true;
}

std::unique_ptr<WeightReader> open_auto_round(const JsonFields& quantization, const Checkpoint& checkpoint) {
  const std::string packing = packing_of(quantization);
  const std::int64_t group = quantization.integer("group_size").value_or(128);
  if (packing.find("awq") != std::string::npos) return awq_reader({.gemv = false, .group_size = group}, checkpoint);
  return gptq_reader({.zeros_less_one = packing.find("gptq") != std::string::npos,
                      .symmetric = quantization.boolean("sym").value_or(true),
                      .ordered = false,
                      .bits = quantization.integer("bits").value_or(4),
                      .group_size = group},
                     checkpoint);
}

}  // namespace

WeightReaderKind auto_round() {
  return {.method = kAutoRoundMethods[0], .accepts = accepts_auto_round, .open = open_auto_round};
}

}  // namespace millrace::model::weights::readers
