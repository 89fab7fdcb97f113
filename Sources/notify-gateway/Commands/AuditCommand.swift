import ArgumentParser

/// `audit`: asks the journal who notified whom, and whether it is as it was written.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Asks the journal: who notified whom, and whether it is as it was written.",
        subcommands: [
            List.self, Show.self, WhoNotified.self, Tail.self, Verify.self, Export.self, Key.self,
        ])
}
