# SPDX-License-Identifier: Apache-2.0
# cpack runs this over the files that it packs. A .deb gets what Debian expects:
# a changelog, compressed, and a copyright file. Packages of static programs
# get the licences of the libraries inside.
set(source ${CMAKE_CURRENT_LIST_DIR}/../..)
set(installed ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
if(NOT CPACK_GENERATOR STREQUAL TGZ)
  set(component /programs)
endif()
set(prefix ${installed}${component}${CPACK_PACKAGING_INSTALL_PREFIX})
set(doc ${prefix}/share/doc/shufflefs)

function(compress)
  execute_process(COMMAND gzip -9nf ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# debian_files(FOLDER): for the package with that folder of documentation.
function(debian_files doc)
  file(MAKE_DIRECTORY ${doc})
  file(COPY_FILE ${source}/CHANGELOG.md ${doc}/changelog)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH
  set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
  file(WRITE ${doc}/changelog.Debian
"shufflefs (${version}) unstable; urgency=medium

  * Built by cpack. changelog.gz has the changes.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  compress(${doc}/changelog ${doc}/changelog.Debian)
  file(WRITE ${doc}/copyright
"Upstream-Name: shufflefs

Files: *
Copyright: 2026 The shufflefs authors
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
endfunction()

# The build was on Debian, whose packages carry their licences.
function(licences_of_libraries)
  file(COPY ${source}/LICENSE DESTINATION ${doc})
  file(MAKE_DIRECTORY ${doc}/licenses)
  foreach(library libfuse3-dev libabsl-dev liburing-dev libxxhash-dev
          libspdlog-dev libfmt-dev libtomlplusplus-dev libcli11-dev
          nlohmann-json3-dev libc6-dev* libstdc++-*-dev*)
    file(GLOB texts /usr/share/doc/${library}/copyright)
    if(NOT texts)
      message(FATAL_ERROR "no licence of ${library}")
    endif()
    list(GET texts 0 text)
    string(REGEX REPLACE "(-[*])?-dev.*" "" name ${library})
    file(COPY_FILE ${text} ${doc}/licenses/${name}.txt)
  endforeach()
  file(COPY /usr/share/common-licenses/LGPL-2.1 DESTINATION ${doc}/licenses)
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/LIBRARIES.txt DESTINATION ${doc}/licenses)
endfunction()

if(NOT CPACK_GENERATOR STREQUAL TGZ)
  file(GLOB manuals ${prefix}/share/man/man?/*)
  compress(${manuals})
endif()
if(CPACK_GENERATOR STREQUAL DEB)
  debian_files(${doc})
  set(peers ${installed}/peers${CPACK_PACKAGING_INSTALL_PREFIX})
  if(EXISTS ${peers})
    debian_files(${peers}/share/doc/shufflefs-peers)
  endif()
else()
  licences_of_libraries()
endif()
