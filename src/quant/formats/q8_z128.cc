#include "quant/group_block.h"

namespace millrace::quant::formats {

QuantFormat q8_z128() { return group_format<8, 128, true>("q8_z128"); }

}  // namespace millrace::quant::formats
