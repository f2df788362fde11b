#include "import/import.h"

#include <utility>

#include "import/readers.h"
#include "import/yaml_text.h"

namespace tenon::importer {

const std::vector<NamedFormat>& Formats() {
  static const std::vector<NamedFormat> kFormats = {
      {"generic-device-plugin", Format::kGenericDevicePlugin},
      {"k8s-host-device-plugin", Format::kHostDevicePlugin},
      {"k8s-virtual-device-plugin", Format::kVirtualDevicePlugin},
      {"smarter-device-manager", Format::kSmarterDeviceManager},
  };
  return kFormats;
}

Result<std::string> Import(Format format, const std::vector<Input>& inputs, std::string domain) {
  Imported all;
  for (const Input& input : inputs) {
    TENON_TRY(auto documents, ParseYaml(input.text, input.name));
    if (documents.empty()) return Error(Code::kInvalidArgument, input.name + ": empty");
    for (const Value& document : documents) {
      const Source source{input.name, document};
      switch (format) {
        case Format::kGenericDevicePlugin:
          TENON_TRY_VOID(ReadGenericDevicePlugin(source, all));
          break;
        case Format::kHostDevicePlugin:
          TENON_TRY_VOID(ReadHostDevicePlugin(source, all));
          break;
        case Format::kVirtualDevicePlugin:
          TENON_TRY_VOID(ReadVirtualDevicePlugin(source, all));
          break;
        case Format::kSmarterDeviceManager:
          TENON_TRY_VOID(ReadSmarterDeviceManager(source, all));
          break;
      }
    }
  }
  if (domain.empty()) domain = all.domain;
  return RenderConfig(domain, all.notes, all.resources);
}

}  // namespace tenon::importer
