#include <gmock/gmock.h>

#include <filesystem>

#include "cli_fixture.h"

namespace tenon::cli_test {
namespace {

struct CheckTest : CliTest {
  std::string good = WriteFile("good.yaml",
                               "domain: example.com\n"
                               "resources:\n"
                               "  - {name: fuse, devices: [{path: /dev/fuse}]}\n");
  std::string bad = WriteFile("bad.yaml",
                              "domain: example.com\n"
                              "resources:\n"
                              "  - {name: fuse, devices: [{path: /srv/x}], colour: red}\n");
};

TEST_F(CheckTest, SaysWhatIsValidAndEverythingThatIsNot) {
  Outcome outcome = Run({"check", good, bad, directory + "/none.yaml"});

  EXPECT_EQ(1, outcome.code);
  ExpectGolden("check.out.txt", outcome.out);
  ExpectGolden("check.err.txt", outcome.errors);
}

TEST_F(CheckTest, AdviceToWriteABackslashShowsOne) {
  std::string glob = WriteFile("glob.yaml",
                               "domain: example.com\n"
                               "resources:\n"
                               "  - {name: x, devices: [{path: \"/dev/[abc\"}]}\n");

  EXPECT_THAT(Run({"check", glob}).errors, ::testing::HasSubstr("write \"\\[\" for"));
}

TEST_F(CheckTest, ReportsAsJson) {
  Outcome outcome = Run({"check", "-o", "json", good, bad});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.errors);
  ExpectGolden("check.json", outcome.out);
}

TEST_F(CheckTest, AllowsWhatTheDaemonWillBeAllowed) {
  std::string sockets = WriteFile("sockets.yaml",
                                  "domain: example.com\n"
                                  "resources:\n"
                                  "  - {name: x, devices: [{path: /srv/x}]}\n");

  EXPECT_EQ(1, Run({"check", sockets}).code);
  EXPECT_EQ(0, Run({"check", "--allow-path", "/srv", sockets}).code);
}

TEST_F(CheckTest, WhatConfigNamesIsOneConfiguration) {
  std::filesystem::create_directory(directory + "/conf.d");
  WriteFile("conf.d/10-kvm.yaml",
            "domain: example.com\n"
            "resources: [{name: kvm, devices: [{path: /dev/kvm}]}]\n");

  Outcome outcome = Run({"check", "--config", good, "--config", directory + "/conf.d"});
  EXPECT_EQ(good + ", " + directory + "/conf.d: valid, 2 resources\n", outcome.out);
  EXPECT_EQ(0, outcome.code) << outcome.errors;

  WriteFile("conf.d/20-fuse.yaml",
            "domain: example.com\n"
            "resources:\n"
            "  - {name: fuse, devices: [{path: /dev/fuse}]}\n");
  outcome = Run({"check", "--config", good, "--config", directory + "/conf.d"});
  EXPECT_EQ(1, outcome.code);
  ExpectGolden("check-twice.err.txt", outcome.errors);
  // By itself the directory is right, and so is the file.
  EXPECT_EQ(0, Run({"check", good, directory + "/conf.d"}).code);
}

TEST_F(CheckTest, WithoutAConfigurationTheCommandLineIsWrong) {
  Outcome outcome = Run({"check"});
  EXPECT_EQ(2, outcome.code);
  EXPECT_EQ("tenon: name a configuration\n", outcome.errors);
}

}  // namespace
}  // namespace tenon::cli_test
