import ArgumentParser

/// `audit`: queries and verifies the journal.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Query the journal for who notified whom, and verify it.",
        subcommands: [
            List.self, Show.self, WhoNotified.self, Tail.self, Verify.self, Export.self, Key.self,
        ])
}
