// What the gateway uses of the system's libpq (PostgreSQL 13 or later), the certificate that its TLS has received, and eventfd(2),
// which Swift's Glibc module lacks.
#pragma once
#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/eventfd.h>

// The codes of PQresultErrorField, which are character constants that Swift imports with the wrong type.
static const int notify_gateway_diag_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int notify_gateway_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int notify_gateway_diag_primary = PG_DIAG_MESSAGE_PRIMARY;
static const int notify_gateway_diag_detail = PG_DIAG_MESSAGE_DETAIL;
static const int notify_gateway_diag_constraint = PG_DIAG_CONSTRAINT_NAME;

// Stores the DER encoding of the server's certificate, which the caller frees with notify_gateway_free, and returns its length;
// returns 0 if there is none, or if libpq does not use OpenSSL.
static inline int notify_gateway_server_certificate(PGconn *connection, unsigned char **encoded) {
    *encoded = NULL;
    SSL *ssl = (SSL *)PQsslStruct(connection, "OpenSSL");
    X509 *certificate = ssl == NULL ? NULL : SSL_get1_peer_certificate(ssl);
    if (certificate == NULL) return 0;
    int length = i2d_X509(certificate, encoded);
    X509_free(certificate);
    return length < 0 ? 0 : length;
}
static inline void notify_gateway_free(unsigned char *encoded) { OPENSSL_free(encoded); }

static inline int notify_gateway_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// libpq prints notices to standard error without a receiver. This one counts warnings.
static inline void notify_gateway_count_warning(void *count, const PGresult *notice) {
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity && strcmp(severity, "WARNING") == 0) ++*(int *)count;
}
static inline void notify_gateway_count_warnings(PGconn *connection, int *count) {
    PQsetNoticeReceiver(connection, notify_gateway_count_warning, count);
}
