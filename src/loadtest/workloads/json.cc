#include <array>

#include "base/counter_rng.h"
#include "loadtest/prompt_source.h"

namespace millrace::loadtest::workloads {
namespace {

struct Form {
  std::string_view question, schema;
};
constexpr std::array<Form, 4> kForms = {
    Form{
        "Describe a person as JSON.",
        R"({"type":"object","properties":{"name":{"type":"string","maxLength":40},"age":{"type":"integer","minimum":0,"maximum":120},"email":{"type":"string","maxLength":60},"tags":{"type":"array","items":{"type":"string","maxLength":20},"maxItems":5}},"required":["name","age","email","tags"],"additionalProperties":false})"},
    Form{
        "List three cities with their populations as JSON.",
        R"({"type":"array","minItems":3,"maxItems":3,"items":{"type":"object","properties":{"city":{"type":"string","maxLength":30},"country":{"type":"string","maxLength":30},"population":{"type":"integer"}},"required":["city","country","population"],"additionalProperties":false}})"},
    Form{
        "Classify the sentiment of: 'I waited an hour and the food was cold.' Answer as JSON.",
        R"({"type":"object","properties":{"sentiment":{"enum":["positive","neutral","negative"]},"confidence":{"type":"number"},"reason":{"type":"string","maxLength":120}},"required":["sentiment","confidence","reason"],"additionalProperties":false})"},
    Form{
        "Write an order of two articles as JSON.",
        R"({"type":"object","properties":{"order":{"type":"string","pattern":"[A-Z]{2}-[0-9]{6}"},"lines":{"type":"array","minItems":2,"maxItems":2,"items":{"type":"object","properties":{"article":{"type":"string","maxLength":30},"count":{"type":"integer","minimum":1,"maximum":99},"price":{"type":"number"}},"required":["article","count","price"],"additionalProperties":false}}},"required":["order","lines"],"additionalProperties":false})"}};

// Answers held to a JSON schema. They end where their JSON does, so --ignore-eos has no say.
class JsonAnswers final : public Workload {
 public:
  explicit JsonAnswers(const WorkloadOptions& options) : options_(options) {}

  Session session(std::uint64_t index) const override {
    const double share = rng::uniform(options_.seed, index, kTextChoice);
    const Form& form = kForms[static_cast<std::size_t>(share * kForms.size()) % kForms.size()];
    Session session;
    Turn& turn = session.turns.emplace_back();
    turn.text = std::string(form.question) + " (" + std::to_string(index) + ")";
    turn.output_tokens = sample(options_.output, options_.seed, index, kOutputLength);
    turn.fields = R"("response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":)" +
                  std::string(form.schema) + "}}";
    return session;
  }

 private:
  WorkloadOptions options_;
};

}  // namespace

WorkloadKind json() {
  return {.name = "json",
          .summary = "completions constrained by one of four JSON schemas (response_format)",
          .meaningful = true,
          .make = [](const WorkloadOptions& options) -> MadeWorkload {
            return MadeWorkload(std::make_unique<JsonAnswers>(options));
          }};
}

}  // namespace millrace::loadtest::workloads
