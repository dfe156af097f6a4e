// Run when the engine is built: prints the list of int8 kernels to instantiate, one for each form that the formats of
// quant/ have. A new format needs no line anywhere else.

#include <cstdio>
#include <string>
#include <vector>

#include "backend/cpu/int8_form.h"
#include "quant/group_format.h"

int main() {
  using namespace millrace;
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::vector<std::string> forms;
  const auto add = [&](const quant::QuantFormat& format) {
    if (format.affine.decompose == nullptr) return;
    const backend::cpu::Int8Form form = backend::cpu::int8_form(format);
    char text[160];
    std::snprintf(text, sizeof text, "Int8Form{%d, %d, %d, Scales{%d}, %s, %s, %d, %d}", form.bits, form.scale_group,
                  form.block_groups, static_cast<int>(form.scales), flag(form.has_min), flag(form.levels), form.zero,
                  form.scale_exponent);
    bool known = false;
    for (const std::string& other : forms) known = known || other == text;
    if (!known) forms.emplace_back(text);
  };
  for (const quant::QuantFormat& format : quant::all_formats()) add(format);
  for (const quant::QuantFormat& format : quant::group_formats()) add(format);
  std::printf("using KnownInt8Forms = Int8Forms<");
  for (const std::string& form : forms) std::printf("%s\n    %s", &form == forms.data() ? "" : ",", form.c_str());
  std::printf(">;\n");
}
