// What the gateway uses of the system's libpq (PostgreSQL 13 or later), and eventfd(2), which Swift's Glibc module lacks.
#pragma once
#include <libpq-fe.h>
#include <sys/eventfd.h>

// The codes of PQresultErrorField, which are character constants that Swift imports with the wrong type.
static const int notify_gateway_diag_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int notify_gateway_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int notify_gateway_diag_primary = PG_DIAG_MESSAGE_PRIMARY;
static const int notify_gateway_diag_detail = PG_DIAG_MESSAGE_DETAIL;
static const int notify_gateway_diag_constraint = PG_DIAG_CONSTRAINT_NAME;

static inline int notify_gateway_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// libpq prints notices to standard error without a processor.
static inline void notify_gateway_ignore_notice(void *context, const PGresult *notice) {
    (void)context;
    (void)notice;
}
static inline void notify_gateway_ignore_notices(PGconn *connection) {
    PQsetNoticeReceiver(connection, notify_gateway_ignore_notice, NULL);
}
