#include "quant/group_block.h"

namespace millrace::quant::formats {

QuantFormat q8_z() { return group_format<8, 32, true>("q8_z"); }

}  // namespace millrace::quant::formats
