#pragma once

#include <millrace/millrace.h>

#include "base/result.h"
#include "chat/chat_format.h"
#include "engine/request.h"
#include "runtime/loaded_model.h"

namespace millrace::runtime {

// The tokens of a prompt. Special tokens are recognized in a text but not in the contents of a chat. A chat is rendered
// by the model's template: kUnsupported naming `prompt` if `format` is null, else the template's error. Thread-safe.
std::vector<std::int32_t> prompt_tokens(const LoadedModel& loaded, std::string_view text);
Result<std::vector<std::int32_t>> prompt_tokens(const LoadedModel& loaded, const chat::ChatFormat* format,
                                                const api::Chat& chat);

// Converts a request to the engine's type, without its grammar. Sampling options that it lacks have the model's values
// (generation_config.json). `max_length` is the limit of a sequence in tokens. kInvalidArgument and kContextLength name
// the field, the value and the limit. The engine makes further checks at submit().
Result<engine::Request> read_request(const api::Request& request, const LoadedModel& loaded,
                                     const chat::ChatFormat* format, std::int64_t max_length);

}  // namespace millrace::runtime
