# SPDX-License-Identifier: Apache-2.0
# With SHUFFLEFS_STATIC the programs need no shared library, so that they run on
# any Linux. Debian has archives of all libraries but these three, which can be
# compiled in from their headers.
set_target_properties(spdlog::spdlog_header_only PROPERTIES
  INTERFACE_LINK_LIBRARIES "Threads::Threads;fmt::fmt-header-only")
set_target_properties(PkgConfig::TOMLPP PROPERTIES
  INTERFACE_COMPILE_OPTIONS "" INTERFACE_LINK_LIBRARIES ""
  INTERFACE_COMPILE_DEFINITIONS TOML_HEADER_ONLY=1)

# Debian's targets of Abseil name shared libraries; the archives are beside them.
get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target ${targets})
  get_target_property(library ${target} IMPORTED_LOCATION_NONE)
  if(target MATCHES "^absl::" AND library)
    string(REGEX REPLACE "\\.so.*" ".a" archive ${library})
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE ${archive})
  endif()
endforeach()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_link_options(-static-pie)
# Such a program loads no module, and says so.
set_source_files_properties(${CMAKE_SOURCE_DIR}/core/peers/peer_module.cc
  PROPERTIES COMPILE_DEFINITIONS SHUFFLEFS_STATIC)
