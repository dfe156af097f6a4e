#include "server/formats/embedding_format.h"

#include <cstring>

#include "base/base64.h"
#include "server/formats/openai_parts.h"

namespace millrace::server {
namespace {

class EmbeddingFormat final : public AnswerFormat {
 public:
  explicit EmbeddingFormat(const GenerationTask& task) : task_(task) {}
  // Never streamed: the route has no such field.
  void begin(std::string&) override {}
  void add(const Answer&, const Piece&, std::string&) override {}
  void end(const std::vector<Answer>&, std::string&) override {}
  void fail(const ApiError&, std::string&) override {}

  Json whole(const std::vector<Answer>& answers) override {
    Json data = Json::array();
    std::int64_t tokens = 0;
    for (const Answer& answer : answers) {
      Json embedding;
      if (task_.fields.embedding_base64) {
        std::string bytes(answer.embedding.size() * sizeof(float), '\0');
        std::memcpy(bytes.data(), answer.embedding.data(), bytes.size());
        embedding = encode_base64(bytes);
      } else {
        embedding = answer.embedding;
      }
      data.push_back({{"object", "embedding"}, {"index", answer.index}, {"embedding", std::move(embedding)}});
      tokens += answer.stats.prompt_tokens;
    }
    Json out = {{"object", "list"},
                {"data", std::move(data)},
                {"model", task_.model_name()},
                {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
    add_times(out, task_, answers[0]);
    return out;
  }

 private:
  const GenerationTask& task_;
};

}  // namespace

std::unique_ptr<AnswerFormat> embedding_format(const GenerationTask& task) {
  return std::make_unique<EmbeddingFormat>(task);
}

}  // namespace millrace::server
