#include "quant/group_block.h"

namespace millrace::quant::formats {

QuantFormat q4_g128() { return group_format<4, 128, false>("q4_g128"); }

}  // namespace millrace::quant::formats
