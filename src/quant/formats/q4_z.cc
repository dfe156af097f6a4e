#include "quant/group_block.h"

namespace millrace::quant::formats {

QuantFormat q4_z() { return group_format<4, 32, true>("q4_z"); }

}  // namespace millrace::quant::formats
