#pragma once

#include <string>

#include "base/env.h"
#include "model/adapters/adapter_files.h"

namespace millrace::model {

// Reads a GGUF file of an adapter, as llama.cpp's convert_lora_to_gguf.py writes them. Its tensors are named as those
// of PEFT: "blk.0.attn_q.weight.lora_a" becomes "blk.0.attn_q.lora_A.weight". Rows are in the order of GGUF's bases.
// Throws LoadError naming file, key or tensor.
AdapterFiles read_gguf_adapter(Env& env, const std::string& path);

}  // namespace millrace::model
