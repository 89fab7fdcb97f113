import ArgumentParser
import GatewayCore
import GatewayServer
import StaticUsers

/// `users`: edits the users file of `static-users`.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users", abstract: "Edit the users file.",
        discussion: """
            Passwords are asked for without echo, or read from the first line of standard input; never from the command line.

            Example: notify-gateway users add alice --group dispatch --config gateway.yaml
            """,
        subcommands: [Add.self, List.self, Remove.self, Passwd.self])

    /// Which users file.
    struct FileOption: ParsableArguments {
        @OptionGroup var configuration: ConfigurationOption

        @Option(
            help: ArgumentHelp("The users file; unless given, the one that the configuration names.", valueName: "file")
        )
        var file: String?

        func load() throws -> UsersFile {
            let path = try path()
            return try refusing { () throws(ConfigurationError) in try UsersFile.load(path, names: names) }
        }

        /// Changes the file as it stands now, whatever other commands have changed since it was loaded.
        func edit(_ path: String, _ change: (inout UsersFile) throws(ConfigurationError) -> Void) throws {
            try refusing { () throws(ConfigurationError) in try UsersFile.edit(path, names: names, change) }
        }

        func path() throws -> String { try file ?? configuration.settings(of: StaticUsersPlugin.self).file }

        /// How names become canonical in front of this file.
        var names: NameRules { ConfigurationFile.names(in: configuration.config) }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a user.", discussion: "Example: notify-gateway users add alice --group dispatch")

        @Argument(help: "The user's name.") var name: String
        @Option(help: "A group of the user's; may be given several times.") var group: [GroupName] = []
        @OptionGroup var file: FileOption

        func run() async throws {
            let users = try file.load()
            guard let user = file.names.canonical(name) else {
                throw CommandFailure.refused("\"\(name)\" is not a user's name.")
            }
            // Said before anybody types a password for nothing.
            guard !users.users.contains(where: { file.names.canonical($0.name) == user }) else {
                throw CommandFailure.refused("\(users.path) has the user \(user) already.")
            }
            let hash = try hash(of: PasswordPrompt.read(for: user))
            try file.edit(users.path) { users throws(ConfigurationError) in
                try users.add(name, passwordHash: hash, groups: group)
            }
            Console.complain("\(user) was added to \(users.path).")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the users, their groups and what bars them.",
            discussion: "Example: notify-gateway users list")

        @OptionGroup var file: FileOption
        @OptionGroup var results: ResultOption

        func run() async throws {
            let users = try file.load().users
            if results.json {
                for user in users { try results.say(Self.item(user)) }
                return
            }
            for user in users {
                var line = user.name
                if !user.groups.isEmpty { line += "\t" + user.groups.map(\.text).joined(separator: ",") }
                if user.isDisabled { line += "\tdisabled" }
                if let expires = user.expires { line += "\texpires \(expires)" }
                try Console.say(line)
            }
        }

        /// The user as one result, without the hash.
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

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a user.", discussion: "Example: notify-gateway users remove alice")

        @Argument(help: "The user's name.") var name: String
        @OptionGroup var file: FileOption

        func run() async throws {
            let path = try file.path()
            try file.edit(path) { users throws(ConfigurationError) in try users.remove(name) }
            Console.complain("\(name) was removed from \(path).")
        }
    }

    struct Passwd: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a user another password.", discussion: "Example: notify-gateway users passwd alice")

        @Argument(help: "The user's name.") var name: String
        @OptionGroup var file: FileOption

        func run() async throws {
            let users = try file.load()
            guard let user = file.names.canonical(name),
                users.users.contains(where: { file.names.canonical($0.name) == user })
            else { throw CommandFailure.refused("\(users.path) has no user \"\(name)\".") }
            let hash = try hash(of: PasswordPrompt.read(for: user))
            try file.edit(users.path) { users throws(ConfigurationError) in try users.setHash(hash, for: name) }
            Console.complain("\(user) has another password.")
        }
    }
}

/// What a users file says no to, as a line for a person.
private func refusing<Result>(_ work: () throws(ConfigurationError) -> Result) throws -> Result {
    do { return try work() } catch { throw CommandFailure.refused(error.description) }
}

private func hash(of password: Secret) throws -> String {
    do {
        return try PasswordHash.make(password: password)
    } catch {
        throw CommandFailure.refused("The password cannot be hashed: \(error)")
    }
}
