#include "tenon/help_format.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

namespace tenon::cli {
namespace {

constexpr size_t kColumn = 30;

class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat() {
    column_width(kColumn);
    label("SUBCOMMAND", "COMMAND");
    label("Positionals", "Arguments");
  }

  /// CLI11 ends a help with no line end, one or two, by its version and what the help ends with.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    while (text.ends_with('\n'))
      text.pop_back();
    return text + "\n";
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? option->get_type_name() : option->get_name(false, true);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    bool shown = !option->get_positional() && !option->get_type_name().empty();
    return shown ? " " + option->get_type_name() : "";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string initial = option->get_default_str();
    return option->get_description() + (initial.empty() ? "" : " (default: " + initial + ")");
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    std::string name = option->get_type_name();
    if (option->get_expected_max() > 1) name += "...";
    return option->get_required() ? name : "[" + name + "]";
  }
};

}  // namespace

void UseHelpFormat(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormat>());
  app.set_help_flag("-h,--help", "Print this help and exit");
}

}  // namespace tenon::cli
