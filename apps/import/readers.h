#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/yaml_text.h"
#include "value/value.h"

namespace tenon::importer {

/// One document and the file that it stands in.
struct Source {
  const std::string& file;
  const Value& document;
};

/// What the documents read so far become.
struct Imported {
  std::string domain;
  std::vector<std::string> notes;  ///< About all of it.
  std::vector<ImportedResource> resources;
};

/// Each adds one document. Errors: kInvalidArgument with the place and what was expected there.
Result<void> ReadGenericDevicePlugin(const Source& source, Imported& into);
Result<void> ReadHostDevicePlugin(const Source& source, Imported& into);
Result<void> ReadVirtualDevicePlugin(const Source& source, Imported& into);
Result<void> ReadSmarterDeviceManager(const Source& source, Imported& into);

}  // namespace tenon::importer
