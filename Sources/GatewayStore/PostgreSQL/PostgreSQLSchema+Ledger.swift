extension PostgreSQLSchema {
    /// The tables of the ledger, with the meaning of those in `LedgerSchema`.
    static let ledgerTables = """
        CREATE TABLE store_version (
            id integer PRIMARY KEY CHECK (id = 1),
            version bigint NOT NULL
        );

        CREATE TABLE property (
            name text PRIMARY KEY,
            value bytea NOT NULL
        );

        CREATE TABLE registration (
            id text COLLATE "C" NOT NULL PRIMARY KEY,
            owner text COLLATE "C" NOT NULL,
            service text COLLATE "C",
            handle bytea CHECK (octet_length(handle) = 16),
            state text NOT NULL CHECK (state IN ('reserved', 'live', 'deleting')),
            created bigint NOT NULL,
            last_seen bigint NOT NULL,
            reason text,
            login text COLLATE "C",
            authenticator text COLLATE "C",
            undeleted bigint,
            import_unconfirmed bigint,
            upstream text COLLATE "C",
            CHECK ((service IS NULL) = (handle IS NULL)),
            CHECK (state = 'reserved' OR handle IS NOT NULL),
            CHECK ((authenticator IS NULL) = (login IS NULL))
        );
        CREATE UNIQUE INDEX registration_of_handle ON registration (service, handle) WHERE state <> 'reserved';
        CREATE INDEX registration_of_owner ON registration (owner, state);
        CREATE INDEX registration_to_delete ON registration (id) WHERE state = 'deleting';
        CREATE INDEX registration_by_account ON registration (authenticator, owner, login, state)
            WHERE login IS NOT NULL;
        CREATE INDEX registration_import_unconfirmed ON registration (import_unconfirmed)
            WHERE import_unconfirmed IS NOT NULL;
        CREATE INDEX registration_without_upstream ON registration (service) WHERE upstream IS NULL;

        CREATE TABLE label (
            "user" text COLLATE "C" NOT NULL,
            label text COLLATE "C" NOT NULL,
            registration text COLLATE "C" NOT NULL
                REFERENCES registration (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
            used bigint NOT NULL,
            PRIMARY KEY ("user", label)
        );
        CREATE INDEX label_of_registration ON label (registration);

        CREATE TABLE hand_over (
            service text COLLATE "C" NOT NULL,
            handle bytea NOT NULL,
            at bigint NOT NULL,
            owner text COLLATE "C",
            former text COLLATE "C"
        );
        CREATE INDEX hand_over_of_handle ON hand_over (service, handle, at);
        CREATE INDEX hand_over_at ON hand_over (at);
        CREATE INDEX hand_over_of_former ON hand_over (former) WHERE former IS NOT NULL;

        CREATE TABLE update_attempt (
            registration text COLLATE "C" NOT NULL
                REFERENCES registration (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
            "user" text COLLATE "C" NOT NULL,
            login text COLLATE "C",
            authenticator text COLLATE "C" CHECK ((authenticator IS NULL) = (login IS NULL)),
            at bigint NOT NULL,
            PRIMARY KEY (registration, "user")
        );
        CREATE INDEX update_attempt_of_user ON update_attempt ("user");

        CREATE TABLE imported (
            id text COLLATE "C" NOT NULL,
            content bytea NOT NULL CHECK (octet_length(content) = 16),
            verdict text NOT NULL,
            PRIMARY KEY (id, content)
        );

        CREATE TABLE stray (
            id text COLLATE "C" NOT NULL PRIMARY KEY,
            service text COLLATE "C",
            handle bytea CHECK (octet_length(handle) = 16),
            reason text NOT NULL,
            undeleted bigint,
            owner text COLLATE "C",
            upstream text COLLATE "C",
            CHECK ((service IS NULL) = (handle IS NULL))
        );

        CREATE TABLE session (
            id text COLLATE "C" NOT NULL PRIMARY KEY,
            "user" text COLLATE "C" NOT NULL,
            login text COLLATE "C" NOT NULL,
            authenticator text COLLATE "C" NOT NULL,
            device text,
            began bigint NOT NULL,
            ends bigint NOT NULL,
            renewed bigint NOT NULL,
            issuer text,
            provider_session text CHECK (provider_session IS NULL OR issuer IS NOT NULL)
        );
        CREATE INDEX session_of_user ON session ("user");

        CREATE TABLE revoked_token (
            "user" text COLLATE "C" NOT NULL,
            token text COLLATE "C" NOT NULL,
            until bigint NOT NULL,
            PRIMARY KEY ("user", token)
        );

        CREATE TABLE revoked_user (
            "user" text COLLATE "C" NOT NULL PRIMARY KEY,
            at bigint NOT NULL
        );

        CREATE TABLE provider_logout (
            issuer text COLLATE "C" NOT NULL,
            kind text NOT NULL CHECK (kind IN ('session', 'subject', 'subject-without-session')),
            value text COLLATE "C" NOT NULL,
            at bigint NOT NULL,
            PRIMARY KEY (issuer, kind, value)
        );

        CREATE TABLE account (
            authenticator text COLLATE "C" NOT NULL,
            "user" text COLLATE "C" NOT NULL,
            mark bytea NOT NULL CHECK (octet_length(mark) = 16),
            since bigint NOT NULL,
            PRIMARY KEY (authenticator, "user")
        );
        CREATE INDEX account_of_user ON account ("user", since);

        CREATE TABLE journal_checkpoint (
            id text COLLATE "C" PRIMARY KEY,
            number bigint NOT NULL CHECK (number > 0),
            hash bytea NOT NULL CHECK (octet_length(hash) = 32),
            at bigint NOT NULL
        );

        """

    /// The texts of secure sends, with the meaning of the table in `SecureTextTables`.
    static let textTables = """
        CREATE TABLE text (
            id bigint PRIMARY KEY,
            owner text COLLATE "C" NOT NULL,
            key bigint NOT NULL,
            delivery bigint NOT NULL,
            expiry bigint NOT NULL,
            fetched bigint,
            size bigint NOT NULL,
            sealed bytea NOT NULL
        );
        CREATE INDEX text_owner ON text (owner, id, key, size);
        CREATE INDEX text_unfetched ON text (owner, delivery) WHERE fetched IS NULL;
        CREATE INDEX text_expiry ON text (expiry);

        """
}
