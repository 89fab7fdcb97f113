import GatewayConfiguration
import GatewayServer

/// The text that a demo prints: commands to try, and the location of its files.
struct DemoGuide {
    let started: StartedGateway
    let directory: String

    private static let handle = "0DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE30DE3"

    var text: String {
        let gateway: String
        let curl: String
        switch started.listeners.first {
        case .unix(let path):
            curl = "curl -sS --unix-socket \(path)"
            gateway = "http://localhost"
        case .tcp?, nil:
            curl = "curl -sS"
            gateway = "http://\(started.listeners.first.map(\.description) ?? "")"
        }
        let inbox = "http://127.0.0.1:\(started.embeddedBackendPort ?? 0)/inbox/\(Self.handle)"
        return """
            The gateway listens on \(gateway), the embedded backend behind it on 127.0.0.1:\(started.embeddedBackendPort ?? 0).
            Users: alice and bob; each one's password is the name. Everything is in \(directory) until you stop this with Ctrl-C.

            Try, in another terminal:

            1. bob's phone registers:
            id=$(\(curl) -u bob:bob -X POST '\(gateway)/api/register?handle=\(Self.handle)' | tr -d '"') && \
            \(curl) -u bob:bob -X PUT "\(gateway)/api/register/$id" -H 'Content-Type: application/json' \
            -d '{"Platform":"apns","Handle":"\(Self.handle)","Tags":[]}' -w 'registered: %{http_code}\\n'

            2. alice notifies bob:
            \(curl) -u alice:alice -X POST '\(gateway)/api/notifications?pns=apns&to_tag=bob' \
            -H 'Content-Type: application/json' -d '"He said "hi" & left"' -w 'sent: %{http_code}\\n'

            3. what bob's phone received:
            curl -sS '\(inbox)'

            4. who notified bob, from the journal:
            notify-gateway audit who-notified bob --config \(directory)/gateway.yaml

            Who notified whom: \(directory)/journal    Health: curl -sS http://\(started.admin)/health/ready

            """
    }
}
