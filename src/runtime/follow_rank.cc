#include "runtime/follow_rank.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "comm/timed_communicator.h"
#include "comm/transports/shm.h"
#include "model/adapters/load_adapter.h"
#include "model/ranks/rank_follower.h"
#include "model/ranks/transformer_part.h"
#include "runtime/loaded_model.h"
#include "runtime/model_config_fields.h"
#include "runtime/rank_meeting.h"

namespace millrace::runtime {

void follow_rank(int descriptor, int rank) {
  constexpr std::chrono::seconds kStart{60};
  for (const int of_terminal : {SIGINT, SIGTERM, SIGHUP}) std::signal(of_terminal, SIG_IGN);  // rank 0 ends it
  const std::shared_ptr<comm::Communicator> group = comm::join_shm(descriptor, rank, kStart).or_throw();
  close(descriptor);
  const std::vector<std::byte> bytes = group->receive(kStart).or_throw();
  ModelConfig config;
  log::Level level = log::Level::kInfo;
  ByteReader reader(bytes);
  reader(level, config);
  if (!reader.ok() || reader.left() > 0) {
    throw_load_error(ErrorCode::kBadFile, "", "rank 0 is of another version of millrace");
  }
  config.validate().or_throw();
  follow_model(level, config, group, [&](const Error& why) { report_not_loaded(why, *group); });
}

void follow_model(log::Level level, const ModelConfig& config, const std::shared_ptr<comm::Communicator>& untimed,
                  const std::function<void(const Error&)>& not_loaded) {
  const auto group = std::make_shared<comm::TimedCommunicator>(untimed);
  log::set_level(std::max(level, level == log::Level::kDebug ? level : log::Level::kWarn));  // rank 0 says the rest
  const LoadedModel loaded = [&] {
    try {
      return load_rank(config, group);
    } catch (const LoadError& failure) {
      if (not_loaded) not_loaded(failure.error());
      throw;
    }
  }();
  const model::AdapterLoader adapters(*loaded.checkpoint, *loaded.transformer, *loaded.backend);
  const auto read = [&](const std::string& path, const model::AdapterOptions& options) {
    return adapters.load(Env::system(), path, options);
  };
  model::TransformerPart part(*loaded.transformer, *loaded.backend);
  model::RankFollower(*group, part, read).run();
}

}  // namespace millrace::runtime
