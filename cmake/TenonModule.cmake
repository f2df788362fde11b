# tenon_module(<name> [COLD] [SOURCES ...] [DEPS <module>...] [LIBS <target>...] [TESTS ...])
#
# One call per src/<name>/CMakeLists.txt. DEPS is the complete list of modules
# whose headers <name> may include; tools/check_layers.py reads it from here.
# COLD: what it does is rare (start, a configuration read, a device that comes), so a static release
# is compiled for size there.
# LIBS are third-party targets and always PRIVATE: they never leak to dependents.
function(tenon_module name)
  cmake_parse_arguments(PARSE_ARGV 1 M "COLD" "" "SOURCES;DEPS;LIBS;TESTS")
  add_library(tenon_${name} STATIC ${M_SOURCES})
  add_library(tenon::${name} ALIAS tenon_${name})
  list(TRANSFORM M_DEPS PREPEND tenon::)
  target_include_directories(tenon_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(tenon_${name} PUBLIC ${M_DEPS} PRIVATE tenon::flags ${M_LIBS})
  target_compile_features(tenon_${name} PUBLIC cxx_std_20)
  if(TENON_STATIC AND M_COLD)
    target_compile_options(tenon_${name} PRIVATE -Os)
  endif()
  if(TENON_BUILD_TESTS AND M_TESTS)
    add_executable(tenon_${name}_test ${M_TESTS})
    target_link_libraries(tenon_${name}_test PRIVATE tenon::${name} tenon::flags GTest::gmock_main)
    tenon_precompile_gtest(tenon_${name}_test)
    gtest_discover_tests(tenon_${name}_test TEST_PREFIX "${name}." PROPERTIES LABELS ${name} TIMEOUT 300)
  endif()
endfunction()

# Parsing gtest and gmock costs more than most tests; they are parsed once for all test binaries.
function(tenon_precompile_gtest target)
  if(NOT TARGET tenon_gtest_pch)
    file(WRITE ${PROJECT_BINARY_DIR}/gtest_pch.cc "")
    add_library(tenon_gtest_pch OBJECT ${PROJECT_BINARY_DIR}/gtest_pch.cc)
    target_link_libraries(tenon_gtest_pch PRIVATE tenon::flags GTest::gmock_main)
    target_precompile_headers(tenon_gtest_pch PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM tenon_gtest_pch)
endfunction()
