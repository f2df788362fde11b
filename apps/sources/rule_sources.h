#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/scanning_source.h"
#include "discovery/source.h"
#include "program/runner.h"

namespace tenon {

/// A program as it is started.
program::Program ToProgram(const config::ProgramRule& rule);

/// The sources that the rules of a resource stand for, in their order, one each. Shared by the
/// daemon and by `tenon discover`, so that what is shown is what would be offered.
std::vector<std::unique_ptr<discovery::Source>> MakeSources(
    const discovery::Surroundings& surroundings, program::Runner& runner,
    const config::ResourceConfig& resource, const std::vector<std::string>& allowed_prefixes);

}  // namespace tenon
