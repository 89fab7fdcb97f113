import Foundation
import GatewaySupport

/// The REST interface of an Azure notification hub over the in-memory hub: registrations and notifications.
///
/// It is as strict as the service: signatures, rights, versions, entity tags and payloads are checked.
struct HubAPI: Sendable {
    static let versions = ["2015-01", "2016-07", "2017-04", "2020-06"]
    /// The seconds in `Retry-After` of a busy hub.
    static let retryAfter = 10

    let access: HubAccess
    let hub: NotificationHub
    var now: @Sendable () -> Date = { Date() }

    /// A request with its parsed target.
    struct Call {
        let request: BackendRequest
        /// The segments of the path after the hub's name.
        let path: [String]
        let query: FormFields

        /// The URI of a resource of the hub, with the query of the request.
        func uri(_ hub: String, _ path: String) -> String {
            let query = request.target.firstIndex(of: "?").map { request.target[$0...] } ?? ""
            return "http://\(request.host)/\(hub)/\(path)\(query)"
        }
    }

    /// Returns the response to a request.
    func response(to request: BackendRequest) -> BackendResponse {
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/").map { FormFields.decoded($0, plusIsSpace: false) }
        let call = Call(
            request: request, path: Array(path.dropFirst()), query: FormFields(parts.count == 2 ? parts[1] : ""))
        guard let route = Self.route(request.method, call) else {
            return Self.error(path.count > 1 && Self.knows(path[1]) ? 405 : 404, "The resource is unknown.")
        }
        do throws(HubAccessFailure) {
            try access.authorize(request, for: route.right, now: now())
        } catch {
            switch error {
            case .unauthorized(let reason): return Self.error(401, "\(reason): The token is invalid.")
            case .forbidden: return Self.error(403, "Unauthorized access. '\(route.right.rawValue)' claim required.")
            }
        }
        guard path.first?.lowercased() == access.hub.lowercased() else {
            return Self.error(404, "The hub does not exist.")
        }
        guard let version = call.query.first("api-version"), Self.versions.contains(version) else {
            return Self.error(400, "The specified api version is not supported.")
        }
        do throws(HubFailure) {
            return try perform(route, call)
        } catch {
            return Self.response(to: error)
        }
    }

    private enum Route {
        case description
        case newID
        case create
        case put(id: String)
        case read(id: String)
        case delete(id: String)
        case list
        case find
        case message
        case schedule
        case cancel(id: String)

        var right: HubAccess.Right {
            switch self {
            case .newID, .create, .put, .read, .delete, .find: .listen
            case .message, .schedule, .cancel: .send
            case .description, .list: .manage
            }
        }
    }

    private static func knows(_ resource: String) -> Bool {
        ["registrationids", "registrations", "messages", "schedulednotifications"].contains(resource.lowercased())
    }

    private static func route(_ method: String, _ call: Call) -> Route? {
        switch (method, call.path.first?.lowercased(), call.path.count) {
        case ("GET", nil, 0): .description
        case ("POST", "registrationids", 1): .newID
        case ("POST", "registrations", 1): .create
        case ("PUT", "registrations", 2): .put(id: call.path[1])
        case ("GET", "registrations", 2): .read(id: call.path[1])
        case ("DELETE", "registrations", 2): .delete(id: call.path[1])
        case ("GET", "registrations", 1): call.query.first("$filter") == nil ? .list : .find
        case ("POST", "messages", 1): .message
        case ("POST", "schedulednotifications", 1): .schedule
        case ("DELETE", "schedulednotifications", 2): .cancel(id: call.path[1])
        default: nil
        }
    }

    private func perform(_ route: Route, _ call: Call) throws(HubFailure) -> BackendResponse {
        switch route {
        case .description:
            return BackendResponse(
                200, contentType: "application/atom+xml; type=entry; charset=utf-8", body: "<entry/>")
        case .newID:
            var response = BackendResponse(201)
            response.fields["Location"] = call.uri(access.hub, "registrationids/\(try hub.reserveID())")
            return response
        case .create: return try put(try hub.reserveID(), call)
        case .put(let id): return try put(id, call)
        case .read(let id): return entry(of: try registration(id), call)
        case .delete(let id): return try delete(id, call)
        case .list: return page(try hub.listedRegistrations(), call)
        case .find: return page(try find(call), call)
        case .message: return try send(call)
        case .schedule: return try schedule(call)
        case .cancel(let id):
            try hub.cancel(scheduled: id)
            return BackendResponse(200)
        }
    }

    /// Returns an error with the service's XML body.
    static func error(_ status: Int, _ detail: String) -> BackendResponse {
        BackendResponse(
            status, contentType: "application/xml; charset=utf-8",
            body: "<Error><Code>\(status)</Code><Detail>\(RegistrationEntry.escaped(detail))</Detail></Error>")
    }

    private static func response(to failure: HubFailure) -> BackendResponse {
        switch failure {
        case .badRequest: return error(400, "The request is invalid.")
        case .notFound: return error(404, "The registration does not exist.")
        case .gone: return error(410, "The registration id is expired or deleted. Create a new one.")
        case .changed: return error(412, "The entity tag does not match.")
        case .failed: return error(500, "The service was unable to process the request.")
        case .busy:
            var response = error(429, "The service is too busy.")
            response.fields["Retry-After"] = "\(retryAfter)"
            return response
        }
    }
}
