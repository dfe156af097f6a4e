#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_env.h"
#include "engine/request.h"
#include "model/adapters/adapter_store.h"
#include "simulator/coverage.h"
#include "simulator/random.h"
#include "simulator/scenario.h"
#include "simulator/verdict.h"

namespace millrace::simulator {

// The adapters of a run: the server's AdapterStore, with files that take virtual time to read, and people who load,
// replace, remove and damage them. All arguments of the constructor must outlive it. One thread.
class AdapterShelf {
 public:
  AdapterShelf(const Scenario& scenario, const MemoryEnv& env, Verdict& verdict, Coverage& coverage);

  bool empty() const noexcept { return scenario_.adapters.names == 0; }
  void open();   // a process begins: all names are to be loaded
  void close();  // it has ended, with its engines
  const std::shared_ptr<model::AdapterStore>& store() const noexcept { return store_; }

  // Gives a request adapters, claimed or held, or none, at random.
  void equip(engine::Request& request);
  // Whether the store may have refused the request with that error.
  bool may_refuse(const engine::Request& request, const Error& error) const;
  // People act, in a round.
  void change();
  void calm() noexcept { calm_ = true; }  // no more of them
  // Reads files as far as the time has come.
  void read() { read_until(env_.time); }
  // What a rank behind rank 0 finds at a path now. Throws LoadError.
  std::shared_ptr<const model::Adapter> read_for_rank(const std::string& path) const;
  // When the file that is read now has been; nothing: none is.
  std::optional<TimePoint> next_event() const;
  // Whether one who waits may have to: something is read, or requests use adapters.
  bool busy() const;

  void check();      // A1 and A2 of docs/simulator.md, after a step
  void check_end();  // A4: no request is left

 private:
  struct Reading {
    std::string path;
    TimePoint until{};
  };
  void read_until(TimePoint now);
  model::AdapterStore::LoadOptions random_options(const std::string& name);
  void load(const std::string& name, const model::AdapterStore::LoadOptions& options);
  Result<model::AdapterContent> content_of(const std::string& path);
  void note(const model::AdapterRef& version);

  const Scenario& scenario_;
  const MemoryEnv& env_;
  Verdict& verdict_;
  Coverage& coverage_;
  Random random_;
  std::shared_ptr<model::AdapterStore> store_;
  std::optional<Reading> reading_;
  std::map<std::string, std::string> files_;    // contents by path
  std::map<std::string, std::string> current_;  // what a name stands for since its last load: the path
  std::vector<std::weak_ptr<model::AdapterVersion>> versions_;
  std::vector<std::weak_ptr<const model::Adapter>> made_;
  int contents_ = 0, loads_ = 0;  // made so far; asked for now
  bool calm_ = false, damaged_ = false, removed_ = false, pinned_ = false;
};

}  // namespace millrace::simulator
