#pragma once

// Included only by source files that declare flags. Headers forward-declare CLI::App instead, since CLI11 takes seconds
// to compile.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
