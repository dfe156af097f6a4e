#pragma once

// What declares flags includes this; headers only name CLI::App, as these take seconds to parse.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
