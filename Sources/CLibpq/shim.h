// What the gateway uses of the system's libpq (PostgreSQL 13 or later), and eventfd(2), which Swift's Glibc module lacks.
#pragma once
#include <libpq-fe.h>
#include <string.h>
#include <sys/eventfd.h>

// The codes of PQresultErrorField, which are character constants that Swift imports with the wrong type.
static const int notify_gateway_diag_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int notify_gateway_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int notify_gateway_diag_primary = PG_DIAG_MESSAGE_PRIMARY;
static const int notify_gateway_diag_detail = PG_DIAG_MESSAGE_DETAIL;
static const int notify_gateway_diag_constraint = PG_DIAG_CONSTRAINT_NAME;

static inline int notify_gateway_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// libpq prints notices to standard error without a receiver. This one counts warnings.
static inline void notify_gateway_count_warning(void *count, const PGresult *notice) {
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity && strcmp(severity, "WARNING") == 0) ++*(int *)count;
}
static inline void notify_gateway_count_warnings(PGconn *connection, int *count) {
    PQsetNoticeReceiver(connection, notify_gateway_count_warning, count);
}
