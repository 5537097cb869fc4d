# SPDX-License-Identifier: Apache-2.0
# cpack runs this over the files that it packs. A .deb gets what Debian expects:
# a changelog, compressed, and a copyright file.
set(source ${CMAKE_CURRENT_LIST_DIR}/../..)
set(prefix
    ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(doc ${prefix}/share/doc/shufflefs)

function(compress)
  execute_process(COMMAND gzip -9nf ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(debian_files)
  file(COPY_FILE ${source}/CHANGELOG.md ${doc}/changelog)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH
  set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
  file(WRITE ${doc}/changelog.Debian
"shufflefs (${version}) unstable; urgency=medium

  * Built by cpack. /usr/share/doc/shufflefs/changelog.gz has the changes.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  compress(${doc}/changelog ${doc}/changelog.Debian)
  file(WRITE ${doc}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: shufflefs

Files: *
Copyright: 2026 The shufflefs authors
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
endfunction()

file(GLOB manuals ${prefix}/share/man/man?/*)
compress(${manuals})
debian_files()
