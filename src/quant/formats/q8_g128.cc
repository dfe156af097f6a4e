#include "quant/group_block.h"

namespace millrace::quant::formats {

QuantFormat q8_g128() { return group_format<8, 128, false>("q8_g128"); }

}  // namespace millrace::quant::formats
