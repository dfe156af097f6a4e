#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/env.h"
#include "chat/grammar_flags.h"
#include "chat/responder.h"
#include "servers/server_link.h"

namespace millrace::app {

// A model on a server with OpenAI's API: millrace, vLLM, llama-server and others. Conversations are sent whole; the
// server's prefix cache keeps what it has computed. Sampling is as in this process where the server tells its model's
// defaults; another server gets what was set, and temperature and top_p.
class RemoteResponder final : public Responder {
 public:
  // Asks the server for the model; an empty `model` is its first one. `shown_as` is how messages name the server.
  // Throws LoadError: kUnavailable where it does not answer, kNotFound with its models' names where it has no such
  // model, kUnsupported where it would leave out the grammar.
  RemoteResponder(ServerAddress address, const std::string& model, const GrammarFlags& grammar,
                  const std::string& shown_as);

  Result<Answer> answer(const nlohmann::ordered_json& messages, const SamplingFlags& sampling,
                        AnswerListener& listener) override;
  // kUnsupported where the server cannot say.
  Result<std::int64_t> count_tokens(const nlohmann::ordered_json& messages) override;
  std::string last_stats() override { return stats_; }
  std::int64_t context_tokens() const override { return context_; }
  Result<decode::SamplingParams> sampling(const SamplingFlags& flags) const override;
  std::string model_name() const override { return model_; }
  std::string description() const override;
  std::string chat_template() const override { return template_; }

 private:
  void add_prompt(nlohmann::json& body, const nlohmann::ordered_json& messages) const;
  nlohmann::json body(const nlohmann::ordered_json& messages, const SamplingFlags& flags,
                      const decode::SamplingParams& params) const;
  Result<void> take(const nlohmann::json& event, Answer& answer, AnswerListener& listener);
  void note_stats(const nlohmann::json& event, const Answer& answer);

  ServerLink link_;
  std::string model_, owner_, shown_as_, template_, stats_;
  GrammarFlags grammar_;
  bool is_millrace_ = false;
  bool continues_text_ = false;  // the model has no chat template: prompts are texts to go on with
  std::int64_t context_ = 0;     // 0 = unknown
  checkpoint::GenerationDefaults defaults_;
  TimePoint asked_{}, last_part_{};  // of the last answer
  std::optional<TimePoint> first_part_;
  std::pair<nlohmann::json, std::int64_t> counted_;  // the last request to count tokens, and the count
};

}  // namespace millrace::app
