// Run when the engine is built: prints the list of int8 kernels to instantiate, one for each form that the formats of
// quant/ have. A new format needs no line anywhere else.

#include <cstdio>
#include <string>
#include <vector>

#include "quant/format.h"

int main() {
  using namespace millrace::quant;
  constexpr int kGroup = 32;
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::vector<std::string> forms;
  for (const QuantFormat& format : all_formats()) {
    const AffineForm& form = format.affine;
    if (form.decompose == nullptr) continue;
    char text[160];
    std::snprintf(text, sizeof text, "Int8Form{%d, %d, %d, Scales{%d}, %s, %s, %s, %d, %d}", form.code_bits,
                  form.scale_group, format.block_values / kGroup, static_cast<int>(form.scales), flag(form.has_min),
                  flag(form.zero_points), flag(form.levels != nullptr), form.zero, form.scale_exponent);
    bool known = false;
    for (const std::string& other : forms) known = known || other == text;
    if (!known) forms.emplace_back(text);
  }
  std::printf("using KnownInt8Forms = Int8Forms<");
  for (const std::string& form : forms) std::printf("%s\n    %s", &form == forms.data() ? "" : ",", form.c_str());
  std::printf(">;\n");
}
