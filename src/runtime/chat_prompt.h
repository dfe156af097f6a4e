#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "chat/chat_format.h"
#include "checkpoint/checkpoint.h"

namespace millrace::runtime {

// Compiles the model's chat templates; null if it has none. The checkpoint must have a tokenizer. Throws LoadError
// (kBadFile) if a template does not work.
std::shared_ptr<const chat::ChatFormat> load_chat_format(const checkpoint::Checkpoint& checkpoint);

std::shared_ptr<const chat::ChatFormat> load_chat_format(const chat::ChatTemplateSet& templates,
                                                         const text::Tokenizer& tokenizer);

// Renders a request, in the form of ChatFormat::render(), with the model's template. Tool definitions and tool calls
// that the template does not support are first written into the messages as text. Returns the template's error.
// Thread-safe.
Result<std::vector<text::TextPiece>> render_chat(const chat::ChatFormat& format, nlohmann::ordered_json request);

}  // namespace millrace::runtime
