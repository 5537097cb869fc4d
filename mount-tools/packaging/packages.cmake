# SPDX-License-Identifier: Apache-2.0
# Settings of cpack. It makes a .deb for the Debian that it runs on, of what
# `cmake --install` puts below /usr. tests/packaging builds and tries it.
set(SHUFFLEFS_MAINTAINER "The shufflefs authors <authors@shufflefs.invalid>"
    CACHE STRING "name and mail address in packages")

set(CPACK_PACKAGE_NAME shufflefs)
set(CPACK_PACKAGE_VENDOR "The shufflefs authors")
set(CPACK_PACKAGE_CONTACT "${SHUFFLEFS_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "FUSE filesystem that reshuffles a training dataset every epoch")
set(CPACK_PACKAGE_DESCRIPTION
"shufflefs shows a dataset for machine learning as a read-only filesystem.
A policy decides the order of each epoch from a seed, and shufflefs reads
the source in an order that suits the device. Programs keep reading
ordinary files and need no change.

This package has the mount program shufflefs, the tool shufflectl, their
manuals, completion for bash, zsh and fish, and a systemd unit.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/doc_files.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1 CACHE STRING "revision of the .deb")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Users mount by fusermount3, and fstab by mount.fuse3.
set(CPACK_DEBIAN_PACKAGE_DEPENDS fuse3)

include(CPack)
