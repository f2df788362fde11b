#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/resource_name.h"
#include "pod/quantity.h"

namespace tenon::cli {

/// How much of an extended resource a kube node is to have.
struct Wish {
  ResourceName name;
  pod::Quantity quantity;  ///< Whole.
};

/// Kube node to what it is to have.
using WishesByNode = std::map<std::string, std::vector<Wish>>;

/// Reads "example.com/dongle=4" and its like. Errors: kInvalidArgument, a line for each text that
/// an API server would refuse, or that stands for a resource named before.
Result<std::vector<Wish>> ParseWishes(const std::vector<std::string>& texts);

/// Reads names alone, "example.com/dongle". Errors as above.
Result<std::vector<ResourceName>> ParseNames(const std::vector<std::string>& texts);

/// Errors: kInvalidArgument for what cannot be the name of a Node object.
Result<void> CheckNodeName(std::string_view name);

/// Reads a file as docs/resources.md has it: "nodes:", below it node names, below these resources
/// with their quantities. Errors: kInvalidArgument, a line for each mistake with its place.
Result<WishesByNode> ParseWishFile(std::string_view text, const std::string& path);

}  // namespace tenon::cli
