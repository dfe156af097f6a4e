#pragma once

#include <millrace/millrace.h>

#include "base/result.h"
#include "chat/chat_format.h"
#include "engine/request.h"
#include "runtime/loaded_model.h"

namespace millrace::runtime {

// The tokens of a prompt. A chat becomes one through the template: kUnsupported where the model has none (null), else
// what the template refuses.
std::vector<std::int32_t> prompt_tokens(const LoadedModel& loaded, std::string_view text);
Result<std::vector<std::int32_t>> prompt_tokens(const LoadedModel& loaded, const chat::ChatFormat* format,
                                                const api::Chat& chat);

// The request as the engine takes it, but for its grammar: tokens, and sampling as asked for or else the model's own.
// `max_length` is of a sequence. kInvalidArgument and kContextLength name the field, the value and the limit; what the
// engine checks is left to it.
Result<engine::Request> read_request(const api::Request& request, const LoadedModel& loaded,
                                     const chat::ChatFormat* format, std::int64_t max_length);

}  // namespace millrace::runtime
