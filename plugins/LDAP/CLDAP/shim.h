// C functions for the LDAP workers: a connection with fixed options, and binds and searches without referrals.
//
// Compiled without _GNU_SOURCE: with it the system's headers define some types (fd_set) differently from the other C
// modules, and Swift rejects two definitions of one type.
#pragma once
#include <lber.h>
#include <ldap.h>
#include <openldap.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Limits the memory of this process, so that a server that sends without end costs one worker and not the machine.
static inline void notify_gateway_limit_memory(unsigned long long bytes) {
    struct rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_DATA, &limit);
}

// Makes libldap ignore ldap.conf, .ldaprc and variables of the environment, which could turn off the verification of
// certificates. Call it before any other function of libldap.
static inline void notify_gateway_ldap_ignore_system_settings(void) { setenv("LDAPNOINIT", "1", 1); }

// Allows TLS 1.2 and 1.3 only. The GnuTLS backend of libldap ignores LDAP_OPT_X_TLS_PROTOCOL_MIN and takes a priority string
// instead; the OpenSSL backend takes no such string. Returns 0, or another value after a failure.
static inline int notify_gateway_ldap_refuse_old_tls(LDAP *ldap) {
    char *package = NULL;
    int oldest = LDAP_OPT_X_TLS_PROTOCOL_TLS1_2;
    int failed = ldap_set_option(ldap, LDAP_OPT_X_TLS_PROTOCOL_MIN, &oldest)
        | ldap_get_option(NULL, LDAP_OPT_X_TLS_PACKAGE, &package);
    if (failed == 0 && package != NULL && strcmp(package, "GnuTLS") == 0) {
        failed = ldap_set_option(
            ldap, LDAP_OPT_X_TLS_CIPHER_SUITE, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2");
    }
    if (package != NULL) ldap_memfree(package);
    return failed;
}

// Creates a handle for a connected descriptor, which it owns also after a failure. `url` names the host whose certificate is
// verified. `authorities` is a PEM file, or NULL for a connection without TLS. `milliseconds` limits each operation. Returns an
// LDAP result code.
static inline int notify_gateway_ldap_create(
    int descriptor, const char *url, const char *authorities, int milliseconds, LDAP **handle) {
    *handle = NULL;
    LDAP *ldap = NULL;
    int transport = strncmp(url, "ldapi:", 6) == 0 ? LDAP_PROTO_IPC : LDAP_PROTO_TCP;
    int status = ldap_init_fd(descriptor, transport, url, &ldap);
    if (status != LDAP_SUCCESS) {
        close(descriptor);
        return status;
    }
    int version = LDAP_VERSION3, dereference = LDAP_DEREF_NEVER;
    int demand = LDAP_OPT_X_TLS_DEMAND, is_server = 0;
    struct timeval timeout = {milliseconds / 1000, (milliseconds % 1000) * 1000};
    int failed = ldap_set_option(ldap, LDAP_OPT_PROTOCOL_VERSION, &version)
        | ldap_set_option(ldap, LDAP_OPT_REFERRALS, LDAP_OPT_OFF)
        | ldap_set_option(ldap, LDAP_OPT_DEREF, &dereference)
        | ldap_set_option(ldap, LDAP_OPT_RESTART, LDAP_OPT_ON)
        | ldap_set_option(ldap, LDAP_OPT_NETWORK_TIMEOUT, &timeout)
        | ldap_set_option(ldap, LDAP_OPT_TIMEOUT, &timeout);
    if (authorities != NULL) {
        failed |= ldap_set_option(ldap, LDAP_OPT_X_TLS_REQUIRE_CERT, &demand)
            | notify_gateway_ldap_refuse_old_tls(ldap)
            | ldap_set_option(ldap, LDAP_OPT_X_TLS_CACERTFILE, authorities)
            | ldap_set_option(ldap, LDAP_OPT_X_TLS_NEWCTX, &is_server);
    }
    if (failed) {
        ldap_unbind_ext_s(ldap, NULL, NULL);
        return LDAP_LOCAL_ERROR;
    }
    *handle = ldap;
    return LDAP_SUCCESS;
}

// Performs a simple bind (RFC 4513, section 5.1). Returns an LDAP result code. `message` receives the server's diagnostic
// message, cut to the buffer.
static inline int notify_gateway_ldap_bind(
    LDAP *ldap, const char *dn, const void *password, size_t length, char *message, size_t capacity) {
    struct berval credentials = {(ber_len_t)length, (char *)password};
    int status = ldap_sasl_bind_s(ldap, dn, LDAP_SASL_SIMPLE, &credentials, NULL, NULL, NULL);
    message[0] = 0;
    char *text = NULL;
    if (ldap_get_option(ldap, LDAP_OPT_DIAGNOSTIC_MESSAGE, &text) == LDAP_SUCCESS && text != NULL) {
        strncpy(message, text, capacity - 1);
        message[capacity - 1] = 0;
    }
    if (text != NULL) ldap_memfree(text);
    return status;
}

// Searches for at most `limit` entries. `attributes` ends with NULL. The caller frees the result, also after an error.
static inline int notify_gateway_ldap_search(
    LDAP *ldap, const char *base, int scope, const char *filter, char **attributes, int limit, LDAPMessage **result) {
    *result = NULL;
    // A NULL time limit stands for LDAP_OPT_TIMEOUT.
    return ldap_search_ext_s(ldap, base, scope, filter, attributes, 0, NULL, NULL, NULL, limit, result);
}

// Returns whether the connection is open and the server has sent nothing, such as a notice of disconnection.
static inline int notify_gateway_ldap_is_quiet(LDAP *ldap) {
    int descriptor = -1;
    if (ldap_get_option(ldap, LDAP_OPT_DESC, &descriptor) != LDAP_SUCCESS || descriptor < 0) return 0;
    struct pollfd event = {descriptor, POLLIN, 0};
    return poll(&event, 1, 0) == 0;
}
