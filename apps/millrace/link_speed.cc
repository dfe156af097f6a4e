#include "link_speed.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "comm/transports/load_mpi.h"
#include "comm/transports/mpi.h"

namespace millrace::app {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;

std::optional<comm::LinkSpeed> measure_over_mpi() {
  constexpr std::chrono::seconds kTimeout{60};
  const auto group = comm::join_mpi(*comm::load_mpi().or_throw(), 1, kTimeout).or_throw();
  if (group->ranks() < 2) {
    throw_load_error(ErrorCode::kInvalidArgument, "link-speed",
                     "link-speed is mpi, and this process is alone: start it by mpirun -np 2");
  }
  group->allocate(comm::kLinkSpeedMemory).or_throw();
  const comm::LinkSpeed speed = comm::measure_link_speed(*group).or_throw();
  group->leave(kTimeout).or_throw();
  if (group->rank() > 0) return std::nullopt;
  return speed;
}

}  // namespace

std::optional<comm::LinkSpeed> measure_link_speed(const std::string& backend) {
  return backend == "mpi" ? measure_over_mpi() : comm::measure_shm_link_speed().or_throw();
}

nlohmann::ordered_json json_of(const comm::LinkSpeed& speed, const std::string& backend) {
  return {{"backend", backend},
          {"latency_us", speed.latency_us},
          {"gb_per_s", speed.gb_per_s},
          {"exchange_8k_us", speed.exchange_8k_us}};
}

comm::LinkSpeed read_link_speed(const std::string& path) {
  const std::string text = read_file(Env::system(), path, kMaxBytes).or_throw();
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) throw_load_error(ErrorCode::kBadFile, path, "{}: expected a JSON object", path);
  comm::LinkSpeed speed;
  for (const auto& [name, field] :
       {std::pair<const char*, double*>{"latency_us", &speed.latency_us}, {"gb_per_s", &speed.gb_per_s}}) {
    const auto value = object.find(name);
    if (value == object.end() || !value->is_number() || !(value->get<double>() > 0.0 && value->get<double>() < 1e9)) {
      throw_load_error(ErrorCode::kBadFile, name, "{}: {}: expected a number above 0, below 1e9", path, name);
    }
    *field = value->get<double>();
  }
  return speed;
}

}  // namespace millrace::app
