extension PostgreSQLSchema {
    /// The tables with the lines of all nodes' journals.
    ///
    /// - `journal_copy`: the state of each node's journal in `journal_line`. `chain` is the number of its present hash chain:
    ///   0 for the first one, and one more whenever the journal began anew or went back to an older state. `next` is the
    ///   number after the last line of that chain and `hash` the hash of that line (32 zero bytes without lines). `first` is
    ///   the number before which retention has removed lines, as signed lines of the journal state. `key` is the public key of the journal's
    ///   signatures, as `audit key` prints it.
    /// - `journal_line`: the lines. `number`, `at` (in microseconds) and the other columns repeat members of `line`, which is
    ///   the line without its line feed, byte by byte. Lines of an earlier chain keep their numbers.
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
}
