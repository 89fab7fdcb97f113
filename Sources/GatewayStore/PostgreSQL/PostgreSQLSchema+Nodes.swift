extension PostgreSQLSchema {
    /// The tables that gateways share besides the ledger.
    ///
    /// - `node`: the gateways that use the store or have used it. `fence` grows with each start; `until` is the time on the
    ///   database's clock, in microseconds, until which the node is live without another sign of life; `applied` is the
    ///   number of the last change in `change` that the node has applied; `accounts` is the digest of its account lists;
    ///   `timeline` is the server's timeline on which the node has found all of its commits, empty while it starts;
    ///   `compared` is the time of the restore with which the node's journal was compared (``LedgerRestore``). The
    ///   index `node_place` makes `fence` a part of a key, so that a transaction that holds the row with
    ///   `FOR KEY SHARE` keeps others from changing the fence, and not from writing signs of life.
    /// - `change`: changes of sessions and revocations for the memory of the other nodes (``SessionChange``). A transaction
    ///   that adds rows locks the table first, so the numbers have the order of the commits. `recorded` is the time of the
    ///   row on the database's clock.
    /// - `claim`: the handles and registrations that a call of a node uses exclusively. A claim of a node that is not live
    ///   at this fence is void. `number` tells a claim from an earlier one of the node. The table is empty after a crash of
    ///   the server, and then no call can finish its change.
    /// - `keyed_send`: sends with an idempotency key. `state` is `in-flight`, `completed` or `unknown`. `number` identifies
    ///   the call among those of its node at its fence.
    /// - `debt`: the rate limiter state of keys that nodes have charged. `arrival` is the theoretical arrival time of `GCRA`
    ///   on the database's clock, in nanoseconds; `maximum` bounds how far ahead it may be. Survives a crash of the server
    ///   since version 2. Without an index on `arrival`, so that an update changes no index.
    /// - `debt_change`: what every node applies to its limits and login throttles: removals by operators, and successful
    ///   logins. `number` grows in the order of the commits.
    /// - `lease`: tasks that one node at a time has.
    static let nodeTables = """
        CREATE TABLE node (
            instance text COLLATE "C" PRIMARY KEY,
            host text NOT NULL,
            program text NOT NULL,
            fence bigint NOT NULL,
            started bigint NOT NULL,
            until bigint NOT NULL,
            is_exclusive boolean NOT NULL,
            applied bigint NOT NULL,
            accounts bytea
        );

        CREATE TABLE change (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            node text COLLATE "C" NOT NULL,
            recorded bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
            kind text NOT NULL,
            "user" text COLLATE "C",
            subject text COLLATE "C",
            issuer text COLLATE "C",
            time bigint
        );
        CREATE INDEX change_recorded ON change (recorded);

        CREATE UNLOGGED TABLE claim (
            key bytea PRIMARY KEY,
            instance text COLLATE "C" NOT NULL,
            fence bigint NOT NULL,
            number bigint NOT NULL
        ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

        CREATE TABLE keyed_send (
            "user" text COLLATE "C" NOT NULL,
            target text COLLATE "C" NOT NULL,
            service text COLLATE "C" NOT NULL,
            key bytea NOT NULL,
            message bytea NOT NULL,
            at bigint NOT NULL,
            instance text COLLATE "C" NOT NULL,
            fence bigint NOT NULL,
            number bigint NOT NULL,
            state text NOT NULL CHECK (state IN ('in-flight', 'completed', 'unknown')),
            result text,
            response bytea,
            PRIMARY KEY ("user", target, service, key)
        );
        CREATE INDEX keyed_send_at ON keyed_send (at);

        CREATE UNLOGGED TABLE debt (
            key bytea PRIMARY KEY,
            arrival bigint NOT NULL,
            maximum bigint NOT NULL
        ) WITH (fillfactor = 70);

        CREATE TABLE debt_change (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            at bigint NOT NULL,
            kind text NOT NULL,
            pattern bytea NOT NULL
        );
        CREATE UNIQUE INDEX debt_change_login ON debt_change (pattern) WHERE kind = 'known-login';
        CREATE INDEX debt_change_user ON debt_change (substring(pattern FROM 2 FOR 8)) WHERE kind = 'known-login';

        CREATE TABLE lease (
            name text COLLATE "C" PRIMARY KEY,
            instance text COLLATE "C" NOT NULL,
            fence bigint NOT NULL
        );

        """

    /// The numbers of the last commits of each node and connection (``AcknowledgedCommits``). The space left on each page
    /// lets an update stay on it.
    static let commitTable = """
        CREATE TABLE node_commit (
            instance text COLLATE "C" NOT NULL,
            lane text COLLATE "C" NOT NULL,
            number bigint NOT NULL,
            PRIMARY KEY (instance, lane)
        ) WITH (fillfactor = 20);

        """
}
