package import GatewaySupport
internal import Synchronization

/// How to reach a database, and the limits of a session.
package struct PostgreSQLSettings: Sendable {
    /// A server that is reached over TCP.
    package struct Host: Sendable, Hashable {
        /// A host name or an IP address. The server's certificate must be for it.
        package var name: String
        /// The TCP port.
        package var port: Int

        /// Creates the address of a server.
        package init(_ name: String, port: Int = 5432) {
            self.name = name
            self.port = port
        }
    }

    /// The authorities that a server's certificate may come from.
    package enum Authorities: Sendable, Hashable {
        /// The authorities that Debian's package ca-certificates lists.
        case system
        /// The authorities in a PEM file.
        case file(String)
    }

    /// A certificate by which a client authenticates itself.
    package struct ClientCertificate: Sendable, Hashable {
        /// The path of the certificate, in PEM.
        package var certificatePath: String
        /// The path of its private key, in PEM without a passphrase. libpq rejects a file that others may read.
        package var keyPath: String

        /// Creates a client certificate.
        package init(certificatePath: String, keyPath: String) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
        }
    }

    /// Where the servers are. TCP always has TLS with a verified certificate and name (`verify-full`).
    package enum Address: Sendable, Hashable {
        /// The directory of a Unix socket, and the port that is part of the socket's name. Without TLS.
        case unixSocket(directory: String, port: Int)
        /// The servers. The one that accepted the last session is tried first, then the others in order.
        case hosts([Host], authorities: Authorities, clientCertificate: ClientCertificate?)
    }

    /// The place of a server in the list, which all copies of the settings share.
    final class LastServer: Sendable {
        let index = Atomic(0)
    }

    /// Where the servers are.
    package var address: Address
    /// The server that accepted the last session.
    let lastServer = LastServer()
    /// The name of the database.
    package var database: String
    /// The name of the role.
    package var user: String
    /// The password of the role, if it needs one.
    package var password: Secret?
    /// The name by which the server's views and logs list the session.
    package var applicationName = "notify-gateway"
    /// The schema in which names without a schema are found, after those of `pg_catalog`, and created; nil for the role's
    /// default. It must belong to the role, without objects of others.
    package var schema: String?
    /// How long an attempt to connect to one server may last, at most.
    package var connectTimeout: Duration = .seconds(5)
    /// How long a statement may run. The server enforces it, and the connection enforces it as its first
    /// ``PostgreSQLConnection/statementDeadline``.
    package var statementTimeout: Duration = .seconds(5)
    /// How long the server waits for the next statement of a transaction.
    package var idleInTransactionTimeout: Duration = .seconds(3)
    /// Whether only servers that accept writes are used.
    package var requiresPrimary = true

    /// Creates settings with the default limits.
    package init(address: Address, database: String, user: String, password: Secret? = nil) {
        self.address = address
        self.database = database
        self.user = user
        self.password = password
    }
}

extension PostgreSQLSettings: Equatable {
    /// Returns whether all settings are the same.
    package static func == (left: PostgreSQLSettings, right: PostgreSQLSettings) -> Bool {
        let hasSamePassword =
            switch (left.password, right.password) {
            case (nil, nil): true
            case (let left?, let right?): left.isEqual(to: right)
            default: false
            }
        return hasSamePassword && left.address == right.address && left.database == right.database
            && left.user == right.user && left.applicationName == right.applicationName && left.schema == right.schema
            && left.connectTimeout == right.connectTimeout && left.statementTimeout == right.statementTimeout
            && left.idleInTransactionTimeout == right.idleInTransactionTimeout
            && left.requiresPrimary == right.requiresPrimary
    }
}
