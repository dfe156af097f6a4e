#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::hub {

// Model names as other programs and browsers write them: addresses of the hub, and names of other libraries of models.
// Nothing here reads the disk or the network.

// A page of the hub: what follows its host, without query and fragment.
// "https://huggingface.co/org/name/tree/main?x=1", "hf.co/org/name" and "huggingface.co/org/name:Q4_K_M" are such;
// nothing for any other text.
std::optional<std::string> path_on_hub(std::string_view text);

// "org/name", "org/name/tree/REVISION", or /blob/, /raw/ and /resolve/REVISION/FILE.gguf: as
// org/name[:FILE][@REVISION]. A text of at most two words, with a quantization and a revision or without, stays as it
// is. kUnsupported says what is wrong with any other page, without its name.
Result<std::string> reference_of_page(std::string_view path);

// Why the text names no model of the hub, and what to write instead: an address with another scheme (ollama://, s3://,
// file://), of another host (docker.io/..., https://example.com/...); nothing otherwise. Without the text itself.
std::optional<std::string> other_source(std::string_view text);

// What to write instead of a short name of ollama's library ("llama3.2", "qwen2.5:7b"); nothing for any other text.
// Some old repositories of the hub have names without an organisation as well ("gpt2"); none begins like these.
std::optional<std::string> ollama_name(std::string_view text);

}  // namespace millrace::hub
