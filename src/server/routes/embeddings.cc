#include "server/formats/embedding_format.h"
#include "server/generation_handler.h"
#include "server/limits.h"
#include "server/prompt_reading.h"
#include "server/route.h"

namespace millrace::server::routes {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

const GenerationSchema& embeddings_schema() {
  static const GenerationSchema made = [] {
    GenerationSchema s;
    add_prompt_field(s, "input", L::kEmbeddings);
    s.field("encoding_format",
            "Encoding of an embedding; float: a list of numbers; base64: their bytes, 32-bit little-endian",
            {{"enum", {"float", "base64", nullptr}}},
            [](Fields& f, const Json& value) -> Result<void> {
              if (value != "float" && value != "base64") {
                return make_error(ErrorCode::kInvalidArgument, "encoding_format",
                                  "encoding_format must be float or base64");
              }
              f.embedding_base64 = value == "base64";
              return {};
            })
        .integer(
            "dimensions", [](Fields& f) -> auto& { return f.dimensions; }, 1, 1 << 20,
            "Numbers of an embedding; only the model's own size is accepted")
        .field("pooling", "Which hidden state it is: of the last token, or the mean of all",
               {{"enum", {"last", "mean", nullptr}}},
               [](Fields& f, const Json& value) -> Result<void> {
                 if (value != "last" && value != "mean") {
                   return make_error(ErrorCode::kInvalidArgument, "pooling", "pooling must be last or mean");
                 }
                 f.pooling = value == "mean" ? engine::Pooling::kMean : engine::Pooling::kLast;
                 return {};
               })
        .boolean(
            "add_special_tokens", [](Fields& f) -> auto& { return f.add_special_tokens; },
            "Whether texts get the tokens that begin a text; default true");
    add_serving_fields(s);
    s.required("input");
    return s;
  }();
  return made;
}

class Embeddings final : public GenerationRoute {
 public:
  Result<void> read(const Json& body, Fields& to, FieldNotes& notes) const override {
    return embeddings_schema().read(body, to, notes);
  }
  Result<void> prepare(GenerationTask& task) const override {
    if (auto read = read_prompts(task, "input", L::kEmbeddings); !read) return read;
    if (task.fields.dimensions && *task.fields.dimensions != task.model->hidden_size) {
      return make_error(ErrorCode::kInvalidArgument, "dimensions", "dimensions is {}: this model's embeddings have {}",
                        *task.fields.dimensions, task.model->hidden_size);
    }
    if (auto made = make_requests(task, 1); !made) return made;
    for (engine::Request& request : task.requests) {
      request.embed = true;
      request.pooling = task.fields.pooling;
    }
    return {};
  }
  std::unique_ptr<AnswerFormat> format(const GenerationTask& task) const override { return embedding_format(task); }
};

}  // namespace

Route embeddings() {
  return {.method = "POST",
          .path = "/v1/embeddings",
          .summary = "Texts as vectors of length 1",
          .handle = generation_route<Embeddings>,
          .reader = task_reader<Embeddings>,
          .body_schema = [] { return embeddings_schema().json(); }};
}

}  // namespace millrace::server::routes
