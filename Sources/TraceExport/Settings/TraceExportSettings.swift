package import GatewaySupport
package import OutboundHTTP

/// The settings of the export to a collector.
public struct TraceExportSettings: Sendable, Equatable {
    /// The URL to which spans are posted, with its path.
    package let endpoint: EndpointURL
    /// The file of the trusted authorities; nil for those of the system.
    package let authority: String?
    /// Further header fields of a request, such as `authorization`.
    package let headers: [Header]
    /// The attribute `service.name`.
    package let service: String

    /// A header field with a secret value.
    package struct Header: Sendable, Equatable {
        /// The name.
        package let name: String
        /// The value.
        package let value: Secret

        /// Creates a field. Name and value must be valid (see ``isName(_:)`` and ``isValue(_:)``).
        package init(_ name: String, _ value: Secret) {
            self.name = name
            self.value = value
        }

        /// Returns whether both are equal, the values included.
        package static func == (left: Header, right: Header) -> Bool {
            left.name == right.name && left.value.isEqual(to: right.value)
        }

        /// Returns whether a text is a usable name: 1 to 64 letters, digits and hyphens, and no field that frames a
        /// request, belongs to the connection, or is set by the gateway itself.
        package static func isName(_ text: String) -> Bool {
            (1...64).contains(text.utf8.count) && !reserved.contains(text.lowercased())
                && text.utf8.allSatisfy { byte in
                    switch byte | 0x20 {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"): true
                    default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
                    }
                }
        }

        /// Returns whether a text is a usable value: 1 to 4,096 bytes of visible ASCII and spaces.
        package static func isValue(_ text: String) -> Bool {
            (1...4096).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        }

        private static let reserved: Set<String> = [
            "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer",
            "expect", "connection", "proxy-connection", "keep-alive", "upgrade", "user-agent",
        ]
    }

    /// The maximum number of further header fields.
    package static let maximumHeaders = 8
    /// The maximum length of the service's name in bytes.
    package static let maximumServiceBytes = 128
    /// The default of ``service``.
    package static let defaultService = "notify-gateway"

    /// Creates settings from their parts.
    package init(
        endpoint: EndpointURL, authority: String? = nil, headers: [Header] = [], service: String = Self.defaultService
    ) {
        self.endpoint = endpoint
        self.authority = authority
        self.headers = headers
        self.service = service
    }
}
