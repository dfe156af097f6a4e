#pragma once

// The command line parser. Include it in sources that declare flags; headers only forward-declare CLI::App, because
// these headers take seconds to compile.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
