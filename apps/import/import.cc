#include "import/import.h"

#include <utility>

#include "import/readers.h"
#include "import/yaml_text.h"

namespace tenon::importer {

const std::vector<NamedFormat>& Formats() {
  static const std::vector<NamedFormat> formats = {
      {"generic-device-plugin", Format::kGenericDevicePlugin},
      {"k8s-host-device-plugin", Format::kHostDevicePlugin},
      {"k8s-virtual-device-plugin", Format::kVirtualDevicePlugin},
      {"smarter-device-manager", Format::kSmarterDeviceManager},
  };
  return formats;
}

namespace {

Result<void> ReadDocument(Format format, const Source& source, Imported& into) {
  switch (format) {
    case Format::kGenericDevicePlugin:
      return ReadGenericDevicePlugin(source, into);
    case Format::kHostDevicePlugin:
      return ReadHostDevicePlugin(source, into);
    case Format::kVirtualDevicePlugin:
      return ReadVirtualDevicePlugin(source, into);
    case Format::kSmarterDeviceManager:
      return ReadSmarterDeviceManager(source, into);
  }
  return {};
}

}  // namespace

Result<std::string> Import(Format format, const std::vector<Input>& inputs, std::string domain) {
  Imported all;
  for (const Input& input : inputs) {
    TENON_TRY(auto documents, ParseYaml(input.text, input.name));
    if (documents.empty()) return Error(Code::kInvalidArgument, input.name + ": empty");
    for (const Value& document : documents)
      TENON_TRY_VOID(ReadDocument(format, {input.name, document}, all));
  }
  if (domain.empty()) domain = all.domain;
  return RenderConfig(domain, all.notes, all.resources);
}

}  // namespace tenon::importer
