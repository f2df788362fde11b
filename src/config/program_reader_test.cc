#include "config/program_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace tenon::config {
namespace {

using ::testing::HasSubstr;

const LoadOptions& Allowed() {
  static const LoadOptions kOptions{.allow_exec = {"/opt/bin/"}};
  return kOptions;
}

/// A resource with these further lines.
std::string Resource(const std::string& lines) {
  return "domain: example.com\nresources:\n  - name: x\n    devices: [{path: /dev/null}]\n" + lines;
}

std::string Errors(const std::string& text) {
  return base::Join(Load(text, "f", Allowed()).errors, "\n");
}

TEST(Programs, AreAnArgvOrAMapping) {
  auto outcome = Load(Resource("    onAllocate: [/opt/bin/seed, --fast, 7]\n"
                               "    onRelease: {run: [/opt/bin/clean], timeout: 300}\n"
                               "    preStart: [/opt/bin/start]\n"
                               "    health: {run: [/opt/bin/ok], every: 5, timeout: 2}\n"),
                      "f", Allowed());

  ASSERT_TRUE(outcome.config) << base::Join(outcome.errors, "\n");
  const ResourcePrograms& programs = outcome.config->resources[0].programs;
  EXPECT_EQ((ProgramRule{{"/opt/bin/seed", "--fast", "7"}, 30}), *programs.on_allocate);
  EXPECT_EQ((ProgramRule{{"/opt/bin/clean"}, 300}), *programs.on_release);
  EXPECT_EQ((ProgramRule{{"/opt/bin/start"}, 25}), *programs.pre_start);
  EXPECT_EQ((PeriodicProgramRule{{{"/opt/bin/ok"}, 2}, 5}), *programs.health);
}

TEST(Programs, ACommandRuleListsDevices) {
  auto outcome = Load(
      "domain: example.com\nresources:\n"
      "  - {name: x, devices: [{command: {run: [/opt/bin/list], every: 10}, permissions: r}]}\n",
      "f", Allowed());

  ASSERT_TRUE(outcome.config) << base::Join(outcome.errors, "\n");
  const Member& member = outcome.config->resources[0].devices[0].members[0];
  EXPECT_EQ((CommandRule{{{{"/opt/bin/list"}, 30}, 10}}), std::get<CommandRule>(member.source));
  EXPECT_EQ("r", member.nodes.permissions);
}

TEST(Programs, OnlyThoseOfAllowedDirectories) {
  EXPECT_EQ(
      "f:5:18: program \"/opt/binary/x\": not allowed; start tenond with --allow-exec /opt/binary",
      Errors(Resource("    onAllocate: [/opt/binary/x]\n")));
  EXPECT_THAT(Errors(Resource("    onAllocate: [/opt/bin/../x]\n")), HasSubstr("absolute path"));
  EXPECT_THAT(Errors(Resource("    onAllocate: [seed]\n")), HasSubstr("absolute path"));
  EXPECT_THAT(Errors("domain: a.b\nresources: [{name: x, devices: [{command: [/bin/ls]}]}]"),
              HasSubstr("--allow-exec /bin"));
}

TEST(Programs, WhatIsNoneIsAFaultWithItsPlace) {
  EXPECT_THAT(Errors(Resource("    health: /opt/bin/ok --now\n")),
              HasSubstr("f:5:13: \"health\" names no program"));
  EXPECT_THAT(Errors(Resource("    health: {every: 3}\n")), HasSubstr("\"run\" is missing"));
  EXPECT_THAT(Errors(Resource("    health: {run: [/opt/bin/ok], evry: 3}\n")),
              HasSubstr("did you mean \"every\"?"));
  EXPECT_THAT(Errors(Resource("    preStart: {run: [/opt/bin/ok], timeout: 26}\n")),
              HasSubstr("f:5:45: "));
  EXPECT_THAT(Errors(Resource("    share: 2\n    onRelease: [/opt/bin/clean]\n")),
              HasSubstr("\"onRelease\" does not go with \"share\""));
  EXPECT_THAT(Errors("domain: a.b\nresources: [{name: x, devices: "
                     "[{all: [{command: [/opt/bin/ls]}]}]}]"),
              HasSubstr("unknown key \"command\""));
}

}  // namespace
}  // namespace tenon::config
