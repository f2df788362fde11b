#include "tenond/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::tenond {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Options> Parse(std::vector<const char*> arguments) {
  return ParseOptions(arguments);
}

TEST(OptionsTest, OnlyTheConfigurationIsRequired) {
  auto options = Parse({"--config", "/c.yaml"});

  ASSERT_TRUE(options);
  EXPECT_THAT(options->configs, ElementsAre("/c.yaml"));
  EXPECT_EQ("/var/lib/kubelet/device-plugins", options->plugin_dir);
  EXPECT_EQ("/var/lib/kubelet/pod-resources/kubelet.sock", options->pod_resources);
  EXPECT_EQ("/run/tenon/tenond.sock", options->control);
  EXPECT_EQ("/", options->root);
  EXPECT_EQ("/var/run/cdi", options->cdi_dir);
  EXPECT_EQ("", options->listen);
}

TEST(OptionsTest, TheKubeletsDirectorySetsBothOfItsPathsUnlessTheyAreGiven) {
  auto options = Parse({"--config=c", "--kubelet-dir=/k"});
  ASSERT_TRUE(options);
  EXPECT_EQ("/k/device-plugins", options->plugin_dir);
  EXPECT_EQ("/k/pod-resources/kubelet.sock", options->pod_resources);

  options = Parse({"--config=c", "--plugin-dir", "/p", "--pod-resources=/s", "--kubelet-dir=/k"});
  ASSERT_TRUE(options);
  EXPECT_EQ("/p", options->plugin_dir);
  EXPECT_EQ("/s", options->pod_resources);
}

TEST(OptionsTest, AllowedPathsAddUp) {
  auto options = Parse({"--config=c", "--allow-path", "/a", "--allow-path=/b=c"});

  ASSERT_TRUE(options);
  EXPECT_THAT(options->allow_paths, ElementsAre("/a", "/b=c"));
}

TEST(OptionsTest, WhatIsNotRunNeedsNoConfiguration) {
  EXPECT_EQ(Options::Action::kProbeLive, Parse({"--probe=live"})->action);
  EXPECT_EQ(Options::Action::kProbeReady, Parse({"--probe", "ready"})->action);
  EXPECT_EQ(Options::Action::kShowVersion, Parse({"--version"})->action);
  EXPECT_EQ(Options::Action::kShowHelp, Parse({"--help"})->action);
}

TEST(OptionsTest, EachFaultIsNamed) {
  struct Case {
    std::string_view name;
    std::vector<const char*> arguments;
    std::string_view message;
  };
  const std::vector<Case> cases = {
      {"nothing", {}, "--config PATH is required"},
      {"unknown", {"--confg", "x"}, "unknown argument '--confg'"},
      {"stray", {"x"}, "unknown argument 'x'"},
      {"no value", {"--config"}, "--config needs a value: --config PATH"},
      {"empty value", {"--config="}, "--config: '' is not a value"},
      {"relative path", {"--config=c", "--root=x"}, "--root: 'x' is not an absolute path"},
      {"value for none", {"--help=x"}, "--help takes no value"},
      {"format", {"--log-format=xml"}, "--log-format: 'xml' is not text or json"},
      {"level", {"--log-level=loud"}, "--log-level: 'loud' is not debug, info, warning or error"},
      {"probe", {"--probe=dead"}, "--probe: 'dead' is not live or ready"},
  };
  for (const Case& c : cases) {
    auto options = Parse(c.arguments);

    ASSERT_FALSE(options) << c.name;
    EXPECT_EQ(Code::kInvalidArgument, options.error().code()) << c.name;
    EXPECT_THAT(options.error().message(), HasSubstr(c.message)) << c.name;
  }
}

TEST(OptionsTest, HelpHasALineForEachOption) {
  const std::string help = HelpText();

  for (const char* name :
       {"--config PATH", "--kubelet-dir DIR", "--plugin-dir DIR", "--pod-resources SOCKET",
        "--root DIR", "--allow-path PREFIX", "--control SOCKET", "--listen ADDR:PORT",
        "--log-format FORMAT", "--log-level LEVEL", "--probe WHAT", "--version", "--help"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + name + " "));
  }
}

}  // namespace
}  // namespace tenon::tenond
