#include "server/constraint_fields.h"
#include "server/formats/completion_format.h"
#include "server/generation_handler.h"
#include "server/limits.h"
#include "server/prompt_reading.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

constexpr std::int64_t kDefaultMaxTokens = 16;  // as the API has had it since its beginning

const GenerationSchema& completions_schema() {
  static const GenerationSchema made = [] {
    GenerationSchema s;
    add_prompt_field(s, "prompt", L::kPrompts);
    s.string(
         "suffix", [](Fields& f) -> auto& { return f.suffix; }, std::size_t{1} << 20,
         "Text that follows the gap to fill in after the prompt, where the model has tokens for that")
        .integer(
            "max_tokens", [](Fields& f) -> auto& { return f.max_tokens; }, 0, L::kMaxTokens,
            "Max tokens of the completion; 0 only with echo or prompt_logprobs")
        .boolean(
            "echo", [](Fields& f) -> auto& { return f.echo; }, "Return the prompt in front of the completion")
        .integer(
            "logprobs", [](Fields& f) -> auto& { return f.logprobs; }, 0, L::kLogprobs,
            "Return logprobs of the completion's tokens (with echo of the prompt's too), with this many of the "
            "most likely at each position")
        .integer(
            "best_of", [](Fields& f) -> auto& { return f.best_of; }, 1, L::kChoices,
            "Generate this many completions and return the n most likely; not with a stream")
        .boolean(
            "add_special_tokens", [](Fields& f) -> auto& { return f.add_special_tokens; },
            "Whether a prompt given as text gets the tokens that begin a text; default true");
    add_sampling_fields(s);
    add_ending_fields(s);
    add_beam_fields(s);
    add_adapter_fields(s);
    add_stream_fields(s);
    add_serving_fields(s);
    add_constraint_fields(s);
    s.required("prompt");
    return s;
  }();
  return made;
}

class Completions final : public GenerationRoute {
 public:
  Result<void> read(const Json& body, Fields& to, FieldNotes& notes) const override {
    if (auto fine = completions_schema().read(body, to, notes); !fine) return fine;
    const auto wrong = [](const char* param, const char* what) {
      return make_error(ErrorCode::kInvalidArgument, param, "{}", what);
    };
    if (to.best_of && *to.best_of < to.n) return wrong("best_of", "best_of must not be less than n");
    if (to.best_of && *to.best_of > to.n && to.stream) return wrong("best_of", "best_of above n cannot be streamed");
    if (to.echo && to.logprobs && !to.suffix.empty()) {
      return wrong("echo", "echo with logprobs excludes suffix: the tokens of such a prompt are not its text's");
    }
    const bool scores_prompt = to.echo && to.logprobs;
    if (scores_prompt) to.prompt_logprobs = to.logprobs;
    if (to.max_tokens == 0 && !to.echo && !to.prompt_logprobs) {
      return wrong("max_tokens", "max_tokens is 0: there must be an answer, or echo");
    }
    if (to.max_tokens == 0 && to.echo && !to.prompt_logprobs) to.prompt_logprobs = 0;  // computes, draws nothing
    return {};
  }
  Result<void> prepare(GenerationTask& task) const override {
    if (auto read = read_prompts(task, "prompt", L::kPrompts); !read) return read;
    if (auto filled = fill_in_middle(task); !filled) return filled;
    return make_requests(task, kDefaultMaxTokens);
  }
  std::unique_ptr<AnswerFormat> format(const GenerationTask& task) const override { return completion_format(task); }
};

}  // namespace

Route completions() {
  return {.method = "POST",
          .path = "/v1/completions",
          .summary = "Continue a text",
          .handle = generation_route<Completions>,
          .reader = task_reader<Completions>,
          .body_schema = [] { return completions_schema().json(); },
          .streams = true};
}

}  // namespace millrace::server::routes
