# SPDX-License-Identifier: Apache-2.0
# Settings of cpack. A usual build makes a .deb for the Debian that it was built
# on, and a second one of the module for several nodes, which needs gRPC. A build
# with SHUFFLEFS_STATIC makes a .tar.gz and an .rpm for any Linux, without the
# module: a static program loads none. tests/packaging builds and tries them.
set(SHUFFLEFS_MAINTAINER "The shufflefs authors <authors@shufflefs.invalid>"
    CACHE STRING "name and mail address in packages")

set(CPACK_PACKAGE_NAME shufflefs)
set(CPACK_PACKAGE_VENDOR "The shufflefs authors")
set(CPACK_PACKAGE_CONTACT "${SHUFFLEFS_MAINTAINER}")
set(summary "FUSE filesystem that reshuffles a training dataset every epoch")
set(description
"shufflefs shows a dataset for machine learning as a read-only filesystem.
A policy decides the order of each epoch from a seed, and shufflefs reads
the source in an order that suits the device. Programs keep reading
ordinary files and need no change.

This package has the mount program shufflefs, the tool shufflectl, their
manuals, completion for bash, zsh and fish, and a systemd unit.")
set(peers_summary "module of shufflefs for jobs on several nodes")
set(peers_description
"shufflefs shows a dataset for machine learning as a read-only filesystem,
reshuffled every epoch.

This package has the module that shufflefs loads if its key 'peers' is set.
It joins the daemons of a job by gRPC, so that they share their memory and
each byte of the dataset leaves the source once.")
# Or CPack would put this summary before those of both .debs.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
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
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME shufflefs)
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "${summary}\n${description}")
# Users mount by fusermount3, and fstab by mount.fuse3.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS fuse3)
set(CPACK_DEBIAN_PEERS_PACKAGE_SOURCE shufflefs)
set(CPACK_DEBIAN_PEERS_DESCRIPTION "${peers_summary}\n${peers_description}")
# The module uses headers of core, so it fits one version of shufflefs only.
set(CPACK_DEBIAN_PEERS_PACKAGE_DEPENDS
    "shufflefs (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP Applications/System)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT programs)
set(CPACK_RPM_PROGRAMS_PACKAGE_REQUIRES fuse3)
set(CPACK_RPM_PROGRAMS_PACKAGE_SUMMARY "${summary}")
set(CPACK_RPM_PROGRAMS_PACKAGE_DESCRIPTION "${description}")
set(CPACK_RPM_PEERS_PACKAGE_REQUIRES "shufflefs = ${PROJECT_VERSION}-1")
set(CPACK_RPM_PEERS_PACKAGE_SUMMARY "${peers_summary}")
set(CPACK_RPM_PEERS_PACKAGE_DESCRIPTION "${peers_description}")
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
set(CPACK_COMPONENTS_ALL programs)
if(SHUFFLEFS_PEERS_FOUND)
  list(APPEND CPACK_COMPONENTS_ALL peers)
endif()
include(CPack)
