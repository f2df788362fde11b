# What `cmake --install` puts where, and the Debian packages of it: deploy/packages makes them.
# Two components, two packages: tenond (static: the daemon, its unit) and tenon (the command line).
include(GNUInstallDirs)
# deploy/packages builds what it packs; across, not all can be built.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

install(TARGETS tenond RUNTIME DESTINATION sbin COMPONENT tenond)
install(FILES deploy/systemd/tenond.service DESTINATION lib/systemd/system COMPONENT tenond)
install(FILES deploy/kubernetes/base/config.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR}d/examples COMPONENT tenond)
install(FILES docs/config.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/tenon COMPONENT tenond)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}d COMPONENT tenond)
install(TARGETS tenon RUNTIME DESTINATION bin COMPONENT tenon)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tenon)
if(TENON_PANDOC)
  install(FILES ${PROJECT_BINARY_DIR}/docs/man/tenond.8.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man8
    COMPONENT tenond)
  install(FILES ${PROJECT_BINARY_DIR}/docs/man/tenon.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT tenon)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "Tenon maintainers")
set(CPACK_COMPONENTS_ALL tenond tenon)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_TENOND_PACKAGE_NAME tenond)
set(CPACK_DEBIAN_TENOND_DESCRIPTION "Kubernetes device plugin for the devices of a machine
 Offers serial ports, cameras, USB sticks, PCI functions and any other device node to pods as
 extended resources, and follows them as they come and go. Begins once there is an
 /etc/tenon/config.yaml.")
set(CPACK_DEBIAN_TENOND_PACKAGE_SUGGESTS tenon)
set(CPACK_DEBIAN_TENOND_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/deploy/debian/postinst;${PROJECT_SOURCE_DIR}/deploy/debian/prerm;${PROJECT_SOURCE_DIR}/deploy/debian/postrm")
set(CPACK_DEBIAN_TENOND_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_TENON_PACKAGE_NAME tenon)
set(CPACK_DEBIAN_TENON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TENON_PACKAGE_RECOMMENDS runc)
set(CPACK_DEBIAN_TENON_PACKAGE_SUGGESTS tenond)
set(CPACK_DEBIAN_TENON_DESCRIPTION "Command line of the Kubernetes device-plugin system Tenon
 Explains configurations and devices, shows who holds what on a node, and has the device manager
 of the kubelet as a program of its own, to use and test device plugins without a cluster.")
include(CPack)
