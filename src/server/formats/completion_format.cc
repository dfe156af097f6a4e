#include "server/formats/completion_format.h"

#include <algorithm>

#include "server/formats/openai_parts.h"

namespace millrace::server {
namespace {

class CompletionFormat final : public AnswerFormat {
 public:
  explicit CompletionFormat(const GenerationTask& task)
      : task_(task),
        id_("cmpl-" + task.request_id),
        chunk_(fmt::format(R"({{"id":{},"object":"text_completion","created":{},"model":{},"choices":[)",
                           json_string(id_), task.created, json_string(task.model_name()))),
        offsets_(task.prompts.size() * static_cast<std::size_t>(task.fields.n), 0),
        echoed_(offsets_.size(), false) {}

  void begin(std::string&) override {}

  // The scores of an echoed prompt come with its first answer, the first tokens of the others before: those wait.
  void add(const Answer& answer, const Piece& piece, std::string& out) override {
    const bool scored = task_.fields.echo && task_.fields.logprobs && task_.prompts[answer.prompt].size() > 1;
    if (scored && scores_of_prompt(answer).empty()) {
      held_.emplace_back(answer, piece);
      return;
    }
    say(answer, piece, out);
    if (held_.empty()) return;
    const auto ready =
        std::ranges::stable_partition(held_, [&](const auto& one) { return one.first.prompt != answer.prompt; });
    for (const auto& [other, gained] : ready) say(other, gained, out);
    held_.erase(ready.begin(), ready.end());
  }

  void end(const std::vector<Answer>& answers, std::string& out) override { append_end(out, task_, chunk_, answers); }

  void fail(const ApiError& error, std::string& out) override { append_failure(out, error); }

  Json whole(const std::vector<Answer>& answers) override {
    Json choices = Json::array();
    for (const Answer& answer : answers) {
      Json logprobs;
      if (task_.fields.logprobs) {
        std::int64_t offset = 0;
        logprobs = begin_logprobs();
        if (task_.fields.echo) add_prompt(logprobs, answer, offset);
        add_scores(logprobs, answer.scores, offset);
      }
      Json choice = {{"index", answer.index},
                     {"text", (task_.fields.echo ? prompt_text(answer.prompt) : "") + answer.text},
                     {"logprobs", std::move(logprobs)},
                     {"finish_reason", finish_reason(task_, answer)},
                     {"stop_reason", stop_reason(answer)}};
      if (task_.fields.prompt_logprobs && !task_.fields.echo)
        choice["prompt_logprobs"] = prompt_logprobs(task_, answer);
      if (task_.fields.return_token_ids) {
        choice["token_ids"] = answer.tokens;
        choice["prompt_token_ids"] = task_.prompts[answer.prompt];
      }
      choices.push_back(std::move(choice));
    }
    Json out = {{"id", id_},
                {"object", "text_completion"},
                {"created", task_.created},
                {"model", task_.model_name()},
                {"choices", std::move(choices)},
                {"usage", usage(task_, answers)},
                {"system_fingerprint", nullptr}};
    add_times(out, task_, answers[0]);
    return out;
  }

 private:
  void say(const Answer& answer, const Piece& piece, std::string& out) {
    const bool ends = answer.finish != engine::FinishReason::kNone;
    const bool echo = task_.fields.echo && !echoed_[answer.index];
    echoed_[answer.index] = true;
    if (piece.text.empty() && piece.scores.empty() && !ends && !echo && !task_.fields.return_token_ids) return;
    std::string text = piece.text;
    Json logprobs;
    if (task_.fields.logprobs) logprobs = begin_logprobs();
    if (echo) {
      text.insert(0, prompt_text(answer.prompt));
      if (task_.fields.logprobs) add_prompt(logprobs, answer, offsets_[answer.index]);
    }
    if (task_.fields.logprobs) add_scores(logprobs, piece.scores, offsets_[answer.index]);
    fmt::format_to(std::back_inserter(out), R"(data: {}{{"index":{},"text":{},"logprobs":{},"finish_reason":{})",
                   chunk_, answer.index, json_string(text), dumped(logprobs), finish_reason(task_, answer).dump());
    out += R"(,"stop_reason":)" + dumped(stop_reason(answer));
    if (task_.fields.return_token_ids) {
      out += R"(,"token_ids":)" + dumped(piece.tokens);
      if (echo || !task_.fields.echo) out += R"(,"prompt_token_ids":)" + dumped(task_.prompts[answer.prompt]);
    }
    out += "}]";
    produced_ += static_cast<std::int64_t>(piece.tokens.size());
    append_usage_so_far(out, task_, answer.prompt, produced_);
    out += "}\n\n";
  }

  std::string prompt_text(std::size_t prompt) const {
    if (!task_.prompt_texts[prompt].empty()) return task_.prompt_texts[prompt];
    return task_.model->tokenizer->decode(task_.prompts[prompt], task_.fields.skip_special_tokens);
  }

  static Json begin_logprobs() {
    return {{"tokens", Json::array()},
            {"token_logprobs", Json::array()},
            {"top_logprobs", Json::array()},
            {"text_offset", Json::array()}};
  }
  // The drawn token joins the likeliest: with logprobs k there are up to k + 1.
  void add_scores(Json& to, const std::vector<engine::TokenScore>& scores, std::int64_t& offset) const {
    for (const engine::TokenScore& score : scores) {
      Json top = Json::object();
      const auto add = [&](const engine::TokenLogprob& one) {
        std::string name = token_text(task_, one.token);
        // Tokens of one text keep the likelier's entry, and the drawn one always its own.
        if (!top.contains(name)) top[std::move(name)] = finite_logprob(one.logprob);
      };
      add_token(to, score.chosen.token, offset);
      to["token_logprobs"].push_back(finite_logprob(score.chosen.logprob));
      for (const auto& one : score.top) add(one);
      add(score.chosen);
      to["top_logprobs"].push_back(std::move(top));
    }
  }
  void add_prompt(Json& to, const Answer& answer, std::int64_t& offset) const {
    const auto& prompt = task_.prompts[answer.prompt];
    add_token(to, prompt[0], offset);
    to["token_logprobs"].push_back(nullptr);
    to["top_logprobs"].push_back(nullptr);
    add_scores(to, scores_of_prompt(answer), offset);
  }
  const std::vector<engine::TokenScore>& scores_of_prompt(const Answer& answer) const {
    auto& mine = prompt_scores_[answer.prompt];
    if (mine.empty()) mine = answer.prompt_scores;
    return mine;
  }
  void add_token(Json& to, std::int32_t token, std::int64_t& offset) const {
    std::string text = token_text(task_, token);
    to["text_offset"].push_back(offset);
    offset += static_cast<std::int64_t>(characters(text));
    to["tokens"].push_back(std::move(text));
  }

  const GenerationTask& task_;
  const std::string id_;
  const std::string chunk_;                     // as all chunks begin
  std::vector<std::int64_t> offsets_;           // [answers], characters said so far
  std::vector<bool> echoed_;                    // [answers]
  std::vector<std::pair<Answer, Piece>> held_;  // for the scores of their prompt
  mutable std::map<std::size_t, std::vector<engine::TokenScore>> prompt_scores_;
  std::int64_t produced_ = 0;
};

}  // namespace

std::unique_ptr<AnswerFormat> completion_format(const GenerationTask& task) {
  return std::make_unique<CompletionFormat>(task);
}

}  // namespace millrace::server
