// Run when the engine is built: prints the list of int8 kernels to instantiate, one for each form that the formats of
// quant/ have. A new format needs no line anywhere else.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "backend/cpu/int8_form.h"
#include "quant/group_format.h"

namespace {

using namespace millrace;

// Each form once, as C++.
class FormList {
 public:
  void add(const backend::cpu::Int8Form& form) {
    const auto flag = [](bool value) { return value ? "true" : "false"; };
    char text[240];
    std::snprintf(text, sizeof text,
                  "Int8Form{%d, %d, %d, Scales{%d}, %s, %s, %d, %d, quant::GridForm{%d, %d, quant::GridSigns{%d}, %d}}",
                  form.bits, form.scale_group, form.block_groups, static_cast<int>(form.scales), flag(form.has_min),
                  flag(form.levels), form.zero, form.scale_exponent, form.grid.row_values, form.grid.index_bits,
                  static_cast<int>(form.grid.signs), form.grid.scale_bits);
    if (std::find(forms_.begin(), forms_.end(), text) == forms_.end()) forms_.emplace_back(text);
  }
  void print(const char* name) const {
    std::printf("template <template <Int8Form> typename Linear>\nusing %s = Int8Forms<Linear", name);
    for (const std::string& form : forms_) std::printf(",\n    %s", form.c_str());
    std::printf(">;\n");
  }

 private:
  std::vector<std::string> forms_;
};

}  // namespace

int main() {
  FormList known, blocks, compact;
  const auto add = [&](const quant::QuantFormat& format) {
    if (format.affine.decompose == nullptr) return;
    const backend::cpu::Int8Form form = backend::cpu::int8_form(format);
    (in_blocks(form) ? blocks : known).add(form);
    if (quant::find_grid(format) != nullptr) compact.add(backend::cpu::compact_form(format));
  };
  for (const quant::QuantFormat& format : quant::all_formats()) add(format);
  for (const quant::QuantFormat& format : quant::group_formats()) add(format);
  known.print("KnownInt8Forms");
  blocks.print("KnownBlockForms");
  compact.print("KnownCompactForms");
}
