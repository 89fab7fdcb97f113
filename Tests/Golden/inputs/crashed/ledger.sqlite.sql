PRAGMA user_version = 6;
BEGIN TRANSACTION;
CREATE TABLE account (
    authenticator TEXT NOT NULL,
    "user" TEXT NOT NULL,
    mark BLOB NOT NULL CHECK (length(mark) = 16),
    since INTEGER NOT NULL,
    PRIMARY KEY (authenticator, "user")
) STRICT;
INSERT INTO "account" VALUES('static-users','frank',X'F41ACE55A91012B82E35E1B479784215',1793613600860927);
INSERT INTO "account" VALUES('static-users','erin',X'F41ACE55A91012B82E35E1B479784215',1793613600860927);
INSERT INTO "account" VALUES('static-users','alice',X'F41ACE55A91012B82E35E1B479784215',1793613600860927);
INSERT INTO "account" VALUES('static-users','grace',X'F41ACE55A91012B82E35E1B479784215',1793613600860927);
INSERT INTO "account" VALUES('static-users','bob',X'F41ACE55A91012B82E35E1B479784215',1793613600860927);
INSERT INTO "account" VALUES('static-users','carol',X'F41ACE55A91012B82E35E1B479784215',1793613600860927);
CREATE TABLE hand_over (
    service TEXT NOT NULL,
    handle BLOB NOT NULL,
    at INTEGER NOT NULL
, owner TEXT, former TEXT) STRICT;
CREATE TABLE imported (
    id TEXT NOT NULL,
    content BLOB NOT NULL CHECK (length(content) = 16),
    verdict TEXT NOT NULL,
    PRIMARY KEY (id, content)
) STRICT;
CREATE TABLE journal_checkpoint (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL CHECK (number > 0),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE label (
    "user" TEXT NOT NULL,
    label TEXT NOT NULL,
    registration TEXT NOT NULL
        REFERENCES registration (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    used INTEGER NOT NULL,
    PRIMARY KEY ("user", label)
) STRICT;
CREATE TABLE property (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
INSERT INTO "property" VALUES('key-fingerprint',X'779A3FFF05F22EF020A3AAF9DE3EC544');
INSERT INTO "property" VALUES('generation',X'66633566333762353232323036663962');
INSERT INTO "property" VALUES('name-rules',X'7B22666F726D223A312C227072656669786573223A5B5D2C227375666669786573223A5B5D2C22657363617065223A22726566757365227D');
CREATE TABLE provider_logout (
    issuer TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('session', 'subject', 'subject-without-session')),
    value TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (issuer, kind, value)
) STRICT;
CREATE TABLE registration (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    service TEXT,
    handle BLOB CHECK (length(handle) = 16),
    state TEXT NOT NULL CHECK (state IN ('reserved', 'live', 'deleting')),
    created INTEGER NOT NULL,
    last_seen INTEGER NOT NULL, reason TEXT, login TEXT, authenticator TEXT CHECK ((authenticator IS NULL) = (login IS NULL)), undeleted INTEGER, import_unconfirmed INTEGER, upstream TEXT,
    CHECK ((service IS NULL) = (handle IS NULL)),
    CHECK (state = 'reserved' OR handle IS NOT NULL)
) STRICT;
INSERT INTO "registration" VALUES('1-1-1','bob','apns',X'098CCDDA34841D4174DC65B1501B163C','live',1793613600920768,1793613600928962,NULL,NULL,NULL,NULL,NULL,'http://127.0.0.1:40381');
CREATE TABLE revoked_token (
    "user" TEXT NOT NULL,
    token TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY ("user", token)
) STRICT;
CREATE TABLE revoked_user (
    "user" TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE session (
    id TEXT NOT NULL PRIMARY KEY,
    "user" TEXT NOT NULL,
    login TEXT NOT NULL,
    authenticator TEXT NOT NULL,
    device TEXT,
    began INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    renewed INTEGER NOT NULL
, issuer TEXT, provider_session TEXT CHECK (provider_session IS NULL OR issuer IS NOT NULL)) STRICT;
CREATE TABLE stray (
    id TEXT NOT NULL PRIMARY KEY,
    service TEXT,
    handle BLOB CHECK (length(handle) = 16),
    reason TEXT NOT NULL, undeleted INTEGER, owner TEXT, upstream TEXT,
    CHECK ((service IS NULL) = (handle IS NULL))
) STRICT;
CREATE TABLE update_attempt (
    registration TEXT NOT NULL
        REFERENCES registration (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    "user" TEXT NOT NULL,
    login TEXT,
    authenticator TEXT CHECK ((authenticator IS NULL) = (login IS NULL)),
    at INTEGER NOT NULL,
    PRIMARY KEY (registration, "user")
) STRICT;
CREATE UNIQUE INDEX registration_of_handle ON registration (service, handle) WHERE state <> 'reserved';
CREATE INDEX registration_of_owner ON registration (owner, state);
CREATE INDEX label_of_registration ON label (registration);
CREATE INDEX hand_over_of_handle ON hand_over (service, handle, at);
CREATE INDEX hand_over_at ON hand_over (at);
CREATE INDEX registration_to_delete ON registration (id) WHERE state = 'deleting';
CREATE INDEX session_of_user ON session ("user");
CREATE INDEX registration_by_account ON registration (authenticator, owner, login, state)
    WHERE login IS NOT NULL;
CREATE INDEX account_of_user ON account ("user", since);
CREATE INDEX update_attempt_of_user ON update_attempt ("user");
CREATE INDEX hand_over_of_former ON hand_over (former) WHERE former IS NOT NULL;
CREATE INDEX registration_import_unconfirmed ON registration (import_unconfirmed)
    WHERE import_unconfirmed IS NOT NULL;
CREATE INDEX registration_without_upstream ON registration (service) WHERE upstream IS NULL;
COMMIT;
