#pragma once

#include <memory>
#include <string>

#include "chat/chat_format.h"
#include "runtime/loaded_model.h"

namespace millrace::runtime {

// The chat format of the adapter of a path, where PEFT's directory has a template other than the model's, as trainers
// save it. Null: it is the model's, also for a file that is all there is. Throws LoadError: kUnsupported naming
// tokenizer.json or added_tokens.json with tokens that the model's tokenizer lacks; kBadFile for a template or file
// that cannot be read.
std::shared_ptr<const chat::ChatFormat> adapter_chat_format(const LoadedModel& loaded, const std::string& path);

}  // namespace millrace::runtime
