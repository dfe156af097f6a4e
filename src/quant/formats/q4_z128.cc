#include "quant/group_block.h"

namespace millrace::quant::formats {

QuantFormat q4_z128() { return group_format<4, 128, true>("q4_z128"); }

}  // namespace millrace::quant::formats
