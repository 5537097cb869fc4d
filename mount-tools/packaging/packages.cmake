# SPDX-License-Identifier: Apache-2.0
# Settings of cpack. A usual build makes a .deb for the Debian that it was built
# on. A build with SHUFFLEFS_STATIC makes a .tar.gz and an .rpm for any Linux.
# tests/packaging builds and tries them.
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
if(SHUFFLEFS_STATIC)
  set(CPACK_GENERATOR TGZ RPM)
endif()
set(CPACK_PACKAGE_FILE_NAME
    shufflefs-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
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

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP Applications/System)
set(CPACK_RPM_PACKAGE_REQUIRES fuse3)
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
# Who publishes the package need not name the machine that built it.
set(CPACK_RPM_SPEC_MORE_DEFINE
    "%define _buildhost localhost\n%define packager ${SHUFFLEFS_MAINTAINER}")
# Other packages own these folders.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /usr/lib/systemd /usr/lib/systemd/system /usr/share/man /usr/share/man/man1
    /usr/share/man/man5 /usr/share/bash-completion
    /usr/share/bash-completion/completions /usr/share/zsh
    /usr/share/zsh/site-functions /usr/share/fish
    /usr/share/fish/vendor_completions.d)
# The module for several nodes needs gRPC, which nobody else does: its component
# is no part of these packages.
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};shufflefs;Unspecified;/")
include(CPack)
