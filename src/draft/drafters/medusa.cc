// Medusa (arXiv:2401.10774): heads on the target's last state, each of which drafts one of the next tokens by itself.
// Head j is some residual blocks, x + silu(W x + b), and a product with a matrix of the vocabulary.

#include <algorithm>

#include "checkpoint/weight_files.h"
#include "draft/draft_rounds.h"
#include "draft/speculators/row_buffer.h"
#include "draft/speculators/speculator_files.h"
#include "draft/speculators/state_pages.h"
#include "model/weight_loader.h"

namespace millrace::draft::drafters {
namespace {

constexpr std::int64_t kMaxBlocks = 64;  // of a head

struct Block {
  std::unique_ptr<backend::Linear> weight;  // [E, E]
  backend::DeviceVector bias;               // [E], or empty
};
struct Head {
  std::vector<Block> blocks;
  std::unique_ptr<backend::Linear> logits;  // [V, E]
};

// What a file calls the weights of a head's block, and its matrix. {h}, {b} and {l}: numbers of the head, of the block,
// and of what follows the last block.
struct Naming {
  std::string_view block, logits;
};
constexpr Naming kNamings[] = {
    {"medusa_head.{h}.{b}.linear", "medusa_head.{h}.{l}"},  // FasterDecoding's and its descendants'
    {"{h}.{b}.linear", "{h}.{l}"},                          // the same without the module's name
    {"blocks.{h}.layers.{b}", "lm_heads.{h}"},              // vLLM's
    {"medusa_heads.blocks.{h}.layers.{b}", "medusa_heads.lm_heads.{h}"},
};

std::string name_of(std::string_view pattern, std::int64_t head, std::int64_t block) {
  std::string name(pattern);
  for (const auto& [mark, number] : {std::pair{"{h}", head}, {"{b}", block}, {"{l}", block}}) {
    if (const auto at = name.find(mark); at != std::string::npos) name.replace(at, 3, std::to_string(number));
  }
  return name;
}

class Heads {
 public:
  Heads(const SpeculatorFiles& files, const DraftPlace& place)
      : spec_(place.target->spec()), loader_(files.checkpoint, spec_), files_(files), place_(place) {}

  std::vector<Head> load() {
    const checkpoint::JsonFields fields = files_.fields();
    std::int64_t heads = fields.required_integer({"medusa_num_heads", "num_heads"});
    const std::int64_t blocks = fields.integer({"medusa_num_layers", "num_hidden_layers"}).value_or(1);
    check("medusa_num_heads", heads, kMaxTokens);
    check("medusa_num_layers", blocks, kMaxBlocks);
    const Naming* naming = &kNamings[0];
    for (const Naming& one : kNamings) {
      if (files_.has(name_of(one.logits, 0, blocks) + ".weight")) naming = &one;
    }
    // Some files hold more heads than they say, as medusa-vicuna-7b-v1.3: 5, and 2 in its configuration.
    while (heads < kMaxTokens && files_.has(name_of(naming->logits, heads, blocks) + ".weight")) ++heads;
    std::vector<Head> all(static_cast<std::size_t>(heads));
    for (std::int64_t h = 0; h < heads; ++h) {
      Head& head = all[static_cast<std::size_t>(h)];
      for (std::int64_t b = 0; b < blocks; ++b) {
        const std::string name = name_of(naming->block, h, b);
        head.blocks.push_back({linear(name, spec_.hidden_size), {}});
        if (!loader_.has(name + ".bias")) continue;
        head.blocks.back().bias = place_.backend->make_vector(loader_.vector(name + ".bias", spec_.hidden_size));
      }
      head.logits = linear(name_of(naming->logits, h, blocks), spec_.vocab_size);
    }
    loader_.check_all_used();
    return all;
  }

 private:
  void check(std::string_view field, std::int64_t value, std::int64_t most) const {
    if (value >= 1 && value <= most) return;
    throw_load_error(ErrorCode::kBadFile, std::string(field), "{}: {} is {}: expected 1 to {}", files_.config_file,
                     field, value, most);
  }
  std::unique_ptr<backend::Linear> linear(const std::string& name, std::int64_t rows) {
    return place_.backend->make_linear({loader_.linear(name + ".weight", rows, spec_.hidden_size)}, place_.precision);
  }

  model::ModelSpec spec_;
  model::WeightLoader loader_;
  const SpeculatorFiles& files_;
  const DraftPlace& place_;
};

class Medusa final : public Drafter {
 public:
  Medusa(const DraftPlace& place, std::vector<Head> heads, std::unique_ptr<StatePages> states)
      : backend_(*place.backend),
        width_(place.target->spec().hidden_size),
        max_length_(place.target->max_length()),
        heads_(std::move(heads)),
        states_(std::move(states)),
        rounds_(place) {
    const std::int64_t rows = DraftRounds::sequences(place);
    x_.reserve(backend_, rows, width_);
    y_.reserve(backend_, rows, width_);
    logits_.reserve(backend_, rows, place.target->spec().vocab_size);
  }

  bool computes() const noexcept override { return true; }
  kv::PageListener* listener() noexcept override { return states_.get(); }
  model::HiddenStateHook* hook() noexcept override { return states_.get(); }

  DraftMemory memory() const noexcept override {
    DraftMemory memory{.pages = states_->bytes(),
                       .workspace = states_->workspace_bytes() + x_.bytes() + y_.bytes() + logits_.bytes()};
    for (const Head& head : heads_) {
      for (const Block& block : head.blocks) memory.weights += block.weight->packed_bytes();
      memory.weights += head.logits->packed_bytes();
    }
    return memory;
  }

  void draft(std::span<Task> tasks) override {
    computed_.clear();
    for (Task& task : tasks) {
      const std::int64_t length = std::ssize(task.tokens), last = length - 2;  // the state that the last token is of
      task.most = std::min({task.most, max_length_ - length, std::ssize(heads_)});
      if (last < 0 || !states_->known(task.pages, last, last + 1)) task.most = 0;
      computed_.push_back(std::max<std::int64_t>(last, 0));
    }
    std::int64_t head = 0;
    rounds_.run(tasks, computed_, [&](const model::BatchInput& input) { return logits(input, head++); }, 1);
    for (Task& task : tasks) {
      for (Branch& branch : task.branches) {  // later heads say the same whatever comes before
        branch.tokens.insert(branch.tokens.end(), task.drafts.begin() + branch.from + 1, task.drafts.end());
      }
    }
  }

 private:
  // Of a row for each sequence, all of which are `head` positions behind its state.
  TensorView logits(const model::BatchInput& input, std::int64_t head) {
    const Head& one = heads_[static_cast<std::size_t>(head)];
    const std::int64_t n = std::ssize(input.sequences);
    const backend::DeviceView x = x_.get(n, width_), y = y_.get(n, width_);
    host_logits_.release();
    slots_.clear();
    for (const backend::SequenceRows& sequence : input.sequences) {
      slots_.push_back(states_->slot(sequence.pages, sequence.first_position - head));
    }
    states_->read(slots_, x);
    for (const Block& block : one.blocks) {
      backend_.linear(*block.weight, {.bias = block.bias.address()}, x, y);
      backend_.activate({.activation = backend::Activation::kSilu}, y, y);
      backend_.add({}, y, x);
    }
    const backend::DeviceView out = logits_.get(n, one.logits->n());
    backend_.linear(*one.logits, {}, x, out);
    backend_.synchronize();
    host_logits_ = backend_.host_view(out);
    return host_logits_.view();
  }

  backend::Backend& backend_;
  std::int64_t width_, max_length_;
  std::vector<Head> heads_;
  std::unique_ptr<StatePages> states_;
  DraftRounds rounds_;
  std::vector<std::int64_t> computed_, slots_;
  RowBuffer x_, y_, logits_;
  backend::HostView host_logits_;  // of the last round
};

Result<std::unique_ptr<Drafter>> make(const DrafterOptions& options) try {
  if (options.heads.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "spec-model", "medusa needs --spec-model: a directory of its heads");
  }
  const DraftPlace& place = options.place;
  const SpeculatorFiles files = open_head_files(Env::system(), options.heads, checkpoint::kMedusaStem);
  std::vector<Head> heads = Heads(files, place).load();
  const model::ModelSpec& target = place.target->spec();
  auto states = StatePages::create(
      place, {.layers = {std::ssize(target.layers)}, .normed = true, .reduce = nullptr, .width = target.hidden_size});
  if (!states) return states.error();
  return std::unique_ptr<Drafter>(std::make_unique<Medusa>(place, std::move(heads), *std::move(states)));
} catch (const LoadError& failure) {
  return failure.error();
}

Result<std::size_t> weight_bytes(const DrafterOptions& options) {
  return head_weight_bytes(options, checkpoint::kMedusaStem);
}

Result<std::size_t> page_bytes(const DrafterOptions& options) {
  return StatePages::page_bytes(options.place.form, options.place.target->spec().hidden_size);
}

}  // namespace

DrafterKind medusa() {
  return {.name = "medusa",
          .description = "Medusa heads on the model's last hidden state, from the directory --spec-model",
          .make = make,
          .needs = Needs::kHeads,
          .page_bytes = page_bytes,
          .weight_bytes = weight_bytes};
}

}  // namespace millrace::draft::drafters
