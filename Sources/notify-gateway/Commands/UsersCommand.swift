import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import Glibc
import StaticUsers

/// `users`: edits the users file of `static-users`.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Edit the users file.",
        discussion: """
            Passwords are read without echo, or from the first line of standard input; never from the command line.

            Example: notify-gateway users add alice --group dispatch --config gateway.yaml
            """,
        subcommands: [Add.self, List.self, Remove.self, Passwd.self])

    /// The option for the path of the users file.
    struct FileOption: ParsableArguments {
        @OptionGroup var configuration: ConfigurationOption

        @Option(
            help: ArgumentHelp("The users file. Default: the one in the configuration.", valueName: "file")
        )
        var file: String?

        /// Reads the users file. A problem of the file ends the command.
        func load() throws -> UsersFile {
            let path = try path()
            return try reportingProblems { () throws(ConfigurationError) in try UsersFile.load(path, names: names) }
        }

        /// Changes the current file, including changes that other commands have made since it was loaded.
        func edit(_ path: String, _ change: (inout UsersFile) throws(ConfigurationError) -> Void) throws {
            try reportingProblems { () throws(ConfigurationError) in try UsersFile.edit(path, names: names, change) }
        }

        /// Returns the path of the option or, without it, of the configuration.
        func path() throws -> String { try file ?? configuration.settings(of: StaticUsersPlugin.self).file }

        /// The rules that make user names canonical.
        var names: NameRules { ConfigurationFile.names(in: configuration.config) }
    }

    /// `users add`: adds a user, with a password from the terminal or a pipe.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a user.", discussion: "Example: notify-gateway users add alice --group dispatch")

        @Argument(help: "The user's name.") var name: String
        @Option(help: "A group of the user; may be repeated.") var group: [GroupName] = []
        @OptionGroup var file: FileOption

        func run() async throws {
            let users = try file.load()
            let user = try file.names.user(name)
            // Checked before the prompt, so that nobody types a password in vain.
            guard !users.users.contains(where: { $0.canonicalName == user }) else {
                throw CommandFailure.refused("\(users.path) already contains the user \(user).")
            }
            let hash = try hash(of: PasswordPrompt.read(for: user))
            try file.edit(users.path) { users throws(ConfigurationError) in
                try users.add(name, passwordHash: hash, groups: group)
            }
            Console.printMessage("\(user) was added to \(users.path).")
        }
    }

    /// `users list`: lists the users.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the users, their groups, and whether they are disabled or expire.",
            discussion: "Example: notify-gateway users list")

        @OptionGroup var file: FileOption
        @OptionGroup var results: ResultOption

        func run() async throws {
            let path = try file.path()
            guard access(path, F_OK) == 0 else { throw CommandFailure.refused("The file \(path) does not exist.") }
            let users = try file.load().users
            if results.json {
                for user in users { try results.print(Self.item(user)) }
                return
            }
            for user in users {
                var line = user.name.onOneLine
                if user.canonicalName.text != user.name.lowercased() { line += "\tuser \(user.canonicalName)" }
                if !user.groups.isEmpty { line += "\t" + user.groups.map(\.text).joined(separator: ",") }
                if user.isDisabled { line += "\tdisabled" }
                if let expires = user.expires { line += "\texpires \(expires)" }
                try Console.printResult(line)
            }
        }

        /// Returns the user as one result, without the password hash.
        private static func item(_ user: UserRecord) -> JSONValue {
            var members: [JSONValue.Member] = [
                .init("user", .string(user.name)), .init("canonical", .string(user.canonicalName.text)),
                .init("groups", .array(user.groups.map { .string($0.text) })),
                .init("disabled", .bool(user.isDisabled)),
            ]
            if let expires = user.expires { members.append(.init("expires", .string("\(expires)"))) }
            return .object(members)
        }
    }

    /// `users remove`: removes a user.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a user.", discussion: "Example: notify-gateway users remove alice")

        @Argument(help: "The user's name.") var name: String
        @OptionGroup var file: FileOption

        func run() async throws {
            let path = try file.path()
            let user = try file.names.user(name)
            var isEmpty = false
            try file.edit(path) { users throws(ConfigurationError) in
                try users.remove(name)
                isEmpty = users.users.isEmpty
            }
            Console.printMessage("\(user) was removed from \(path).")
            if isEmpty {
                Console.printMessage(
                    """
                    \(path) has no users now. A running gateway ends all their sessions and devices within a second; it \
                    will not start again without a user. Run `notify-gateway users add NAME`.
                    """)
            }
        }
    }

    /// `users passwd`: changes the password of a user.
    struct Passwd: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change the password of a user.", discussion: "Example: notify-gateway users passwd alice")

        @Argument(help: "The user's name.") var name: String
        @OptionGroup var file: FileOption

        func run() async throws {
            let users = try file.load()
            let user = try file.names.user(name)
            guard users.users.contains(where: { $0.canonicalName == user }) else {
                throw CommandFailure.refused("\(users.path) contains no user \"\(name.printable)\".")
            }
            let hash = try hash(of: PasswordPrompt.read(for: user))
            try file.edit(users.path) { users throws(ConfigurationError) in try users.setHash(hash, for: name) }
            Console.printMessage("The password of \(user) was changed.")
        }
    }
}

/// Runs the work. Its problems become the message of the failed command.
private func reportingProblems<Result>(_ work: () throws(ConfigurationError) -> Result) throws -> Result {
    do { return try work() } catch { throw CommandFailure.refused(error.description) }
}

private func hash(of password: Secret) throws -> String {
    do {
        return try PasswordHash.make(password: password)
    } catch {
        throw CommandFailure.refused("The password cannot be hashed: \(error)")
    }
}
