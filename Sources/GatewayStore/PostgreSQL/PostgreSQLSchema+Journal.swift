extension PostgreSQLSchema {
    /// The tables with the lines of all nodes' journals.
    ///
    /// - `journal_copy`: the state of each node's journal in `journal_line`. `chain` is the number of its present hash chain:
    ///   0 for the first one, and one more whenever the journal began anew or went back to an older state. `next` is the
    ///   number after the last line of that chain and `hash` the hash of that line (32 zero bytes without lines). `first` is
    ///   the number before which retention has removed lines, as signed lines of the journal state. `key` is the public key of the journal's
    ///   signatures, as `audit key` prints it.
    /// - `journal_line`: the lines. `number`, `at` (in microseconds) and the other columns repeat members of `line`, which is
    ///   the line without its line feed, byte by byte. `count` is null for 1, and `ms` without a response of the backend. Lines
    ///   of an earlier chain keep their numbers.
    static let journalTables = """
        CREATE TABLE journal_copy (
            instance text COLLATE "C" PRIMARY KEY,
            chain integer NOT NULL,
            next bigint NOT NULL,
            hash bytea NOT NULL CHECK (octet_length(hash) = 32),
            first bigint NOT NULL,
            key text NOT NULL
        );

        CREATE TABLE journal_line (
            instance text COLLATE "C" NOT NULL,
            chain integer NOT NULL,
            number bigint NOT NULL,
            at bigint NOT NULL,
            kind text COLLATE "C",
            "user" text COLLATE "C",
            recipient text COLLATE "C",
            action text COLLATE "C",
            result text COLLATE "C",
            call text COLLATE "C",
            count bigint,
            ms bigint,
            line text NOT NULL,
            PRIMARY KEY (instance, chain, number)
        );
        CREATE INDEX journal_line_at ON journal_line (at, instance, chain, number);
        CREATE INDEX journal_line_user ON journal_line ("user", at) WHERE "user" IS NOT NULL;
        CREATE INDEX journal_line_recipient ON journal_line (recipient, at) WHERE recipient IS NOT NULL;
        CREATE INDEX journal_line_retired ON journal_line (instance, chain, number) WHERE kind = 'retired';
        CREATE INDEX journal_line_call ON journal_line (call) WHERE call IS NOT NULL;
        CREATE INDEX journal_line_refusal ON journal_line (at, instance, chain, number) WHERE kind = 'refusal';

        """

    /// The tables with the numbers of calls of all nodes, which ``SharedCounts`` keeps up to date.
    ///
    /// - `journal_count`: the progress of counting: `next` is the number of the first line of a node's chain that is not
    ///   counted yet.
    /// - `minute_count`: the calls of a minute, in minutes since 1970. `class` is that of ``SendClass``, or `other` for
    ///   rejected calls that are not sends. `latency` is the number of the bucket of ``LatencyBuckets``, or -1 if there is no
    ///   duration.
    /// - `pair_count`: the sends of a pair of users in an hour or a day; `bucket` is ``StatisticsBucket/code``. The days whose
    ///   hours are counted have no bucket of their own. `recipient` is empty for sends without one. `last` is the time of the
    ///   last send, in microseconds since 1970.
    /// - `pair_other`: the sends of a bucket whose pairs were removed, because there were too many.
    static let countTables = """
        CREATE TABLE journal_count (
            instance text COLLATE "C" NOT NULL,
            chain integer NOT NULL,
            next bigint NOT NULL,
            PRIMARY KEY (instance, chain)
        );

        CREATE TABLE minute_count (
            minute bigint NOT NULL,
            class text COLLATE "C" NOT NULL,
            latency integer NOT NULL,
            count bigint NOT NULL,
            PRIMARY KEY (minute, class, latency)
        ) WITH (fillfactor = 70);

        CREATE TABLE pair_count (
            bucket bigint NOT NULL,
            sender text COLLATE "C" NOT NULL,
            recipient text COLLATE "C" NOT NULL,
            accepted bigint NOT NULL,
            failed bigint NOT NULL,
            refused bigint NOT NULL,
            last bigint NOT NULL,
            PRIMARY KEY (sender, recipient, bucket)
        ) WITH (fillfactor = 80);
        CREATE INDEX pair_count_bucket ON pair_count (bucket);
        CREATE INDEX pair_count_recipient ON pair_count (recipient, bucket);

        CREATE TABLE pair_other (
            bucket bigint PRIMARY KEY,
            accepted bigint NOT NULL,
            failed bigint NOT NULL,
            refused bigint NOT NULL
        );

        """
}
