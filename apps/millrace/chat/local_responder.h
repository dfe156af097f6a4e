#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "chat/answer_reader.h"
#include "chat/grammar_flags.h"
#include "chat/prompt_writer.h"
#include "chat/responder.h"
#include "engine/engine.h"
#include "engine/utilization.h"
#include "model_flags.h"
#include "runtime/serving_engine.h"
#include "runtime/speculation_config.h"

namespace millrace::app {

// Flags of a model that answers in this process.
struct LocalModelFlags {
  ModelFlags model;
  runtime::SpeculationConfig speculation;
  runtime::AdapterConfig adapters;  // all of which every answer goes through
  GrammarFlags grammar;
};

// A model in this process, with an engine of one session: the KV cache keeps earlier messages, and only new tokens are
// computed.
class LocalResponder final : public Responder {
 public:
  // Loads the model; calls `progress` with the share that is loaded. Throws LoadError: also kUnsupported if the model
  // has no tokenizer, kBadFile if its chat template does not work.
  explicit LocalResponder(LocalModelFlags flags, const std::function<void(double)>& progress);
  ~LocalResponder() override;

  Result<Answer> answer(const nlohmann::ordered_json& messages, const SamplingFlags& sampling,
                        AnswerListener& listener) override;
  Result<std::int64_t> count_tokens(const nlohmann::ordered_json& messages) override;
  std::string last_stats() override;
  std::int64_t context_tokens() const override { return engine_->limits().max_length; }
  Result<decode::SamplingParams> sampling(const SamplingFlags& flags) const override;
  std::string model_name() const override { return name_; }
  std::string description() const override;
  std::string chat_template() const override { return std::string(prompts_.chat_template()); }

 private:
  chat::AnswerReading reading(bool thinking) const;
  void observe_prompt(AnswerListener* listener);

  std::string name_;
  TimePoint start_;
  LoadedModel loaded_;
  PromptWriter prompts_;
  runtime::ServingEngine serving_;
  engine::Engine* engine_;
  std::vector<engine::AdapterUse> adapters_;
  std::shared_ptr<grammar::CompiledGrammar> grammar_;
  engine::SessionId session_ = 0;
  double loaded_ms_ = 0.0;
  std::int64_t prompt_tokens_ = 0;  // of the answer in progress
  engine::RequestStats stats_;      // of the last answer
  engine::TimeSpent spent_;
  engine::MachinePeaks peaks_;
};

}  // namespace millrace::app
