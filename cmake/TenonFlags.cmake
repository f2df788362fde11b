# tenon_flags carries every compile and link flag; no CMAKE_CXX_FLAGS anywhere.
add_library(tenon_flags INTERFACE)
add_library(tenon::flags ALIAS tenon_flags)
target_compile_features(tenon_flags INTERFACE cxx_std_20)
target_compile_options(tenon_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  -Wno-missing-field-initializers  # g++ 12 warns on every partial designated initialiser
  # g++ 12 sees overlaps and overflows in inlined std::string code that are not there (PR 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>  # lets ccache look through precompiled headers
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>"  # the same for clang
  $<$<BOOL:${TENON_WERROR}>:-Werror>)
if(TENON_SANITIZE)
  list(JOIN TENON_SANITIZE "," _san)
  target_compile_options(tenon_flags INTERFACE -fsanitize=${_san} -fno-sanitize-recover=all
    -fno-omit-frame-pointer $<$<BOOL:${TENON_FUZZ}>:-O1>)
  target_compile_definitions(tenon_flags INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(tenon_flags INTERFACE -fsanitize=${_san})
endif()
if(TENON_STATIC)
  # Sections let the linker drop what a static program does not reach. The preset asks for -O2: what
  # -O3 adds is size, nothing here spends its time in loops.
  target_compile_options(tenon_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(tenon_flags INTERFACE -Wl,--gc-sections)
endif()
