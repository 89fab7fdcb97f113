/// The four calls of a notify-users backend of one flavour, on top of a hub.
///
/// A pure function of request and hub, without I/O and waits.
struct NotifyUsersAPI: Sendable {
    let flavor: BackendFlavor
    let hub: NotificationHub

    /// Processes one request.
    func response(to request: BackendRequest) -> BackendResponse {
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = FormFields(parts.count == 2 ? parts[1] : "")
        guard let route = BackendRoute(path: parts.first ?? "") else { return BackendResponse(404) }
        // ASP.NET Core routes before it authenticates. In Web API the authentication handler runs first, whatever the
        // controller.
        if flavor != .classic, let rejection = rejection(of: request, to: route) { return rejection }
        let user: String
        switch authenticate(request) {
        case .success(let name): user = name
        case .failure(let rejection): return rejection.answer
        }
        if flavor == .classic, let rejection = rejection(of: request, to: route) { return rejection }
        switch (route.controller, request.method) {
        case (.register, "POST"): return reserve(request, query)
        case (.register, "PUT"): return upsert(request, id: id(route, query), user: user)
        case (.register, "DELETE"): return delete(request, id: id(route, query))
        case (.notifications, "POST"): return send(request, query, user: user)
        default: return BackendResponse(404)
        }
    }

    private struct AuthenticationRefused: Error {
        let answer: BackendResponse
    }

    private func authenticate(_ request: BackendRequest) -> Result<String, AuthenticationRefused> {
        do throws(BasicCredential.Fault) {
            let credential = try BasicCredential(authorization: request.authorization, flavor: flavor)
            if credential.isValid { return .success(credential.user) }
            return .failure(.init(answer: BackendResponse(flavor == .classic ? 403 : 401)))
        } catch {
            switch (flavor, error) {
            // The tutorial's handler throws an exception in these cases, which becomes a server error.
            case (.classic, .absent), (.classic, .malformed): return .failure(.init(answer: serverError))
            case (.classic, .otherScheme): return .failure(.init(answer: BackendResponse(403)))
            case (.core, _), (.net6, _): return .failure(.init(answer: BackendResponse(401)))
            }
        }
    }

    /// Returns the 404 or 405 for a request that the flavour does not route; nil for other requests.
    private func rejection(of request: BackendRequest, to route: BackendRoute) -> BackendResponse? {
        let methods: [String]
        switch (route.controller, route.id != nil) {
        case (.unknown(let name), _):
            guard flavor == .classic else { return BackendResponse(404) }
            return notFound(request, detail: "No type was found that matches the controller named '\(name)'.")
        case (.register, false): methods = flavor == .net6 ? ["POST"] : ["POST", "PUT", "DELETE"]
        case (.register, true):
            guard flavor.takesIDInPath else { return BackendResponse(404) }
            methods = flavor == .net6 ? ["PUT", "DELETE"] : ["POST", "PUT", "DELETE"]
        case (.notifications, false): methods = ["POST"]
        case (.notifications, true):
            guard flavor == .classic, request.method == "POST" else { return BackendResponse(404) }
            methods = ["POST"]
        }
        guard !methods.contains(request.method) else { return nil }
        let allow = methods.joined(separator: ", ")
        guard flavor == .classic else { return BackendResponse(405, allow: allow) }
        let message = "The requested resource does not support http method '\(request.method)'."
        return .message(405, message, allow: allow)
    }

    /// Returns the registration id from the place that the flavour supports. The path takes precedence over the query.
    private func id(_ route: BackendRoute, _ query: FormFields) -> String? {
        let id = route.id ?? (flavor.takesIDInQuery ? query.first("id") : nil)
        return id?.isEmpty == true ? nil : id
    }

    /// The 500 of an unhandled exception.
    var serverError: BackendResponse {
        flavor == .classic ? .message(500, "An error has occurred.") : BackendResponse(500)
    }

    /// Returns Web API's 404, which contains the URI.
    func notFound(_ request: BackendRequest, detail: String) -> BackendResponse {
        let uri = "http://" + request.host + request.target
        return .message(404, "No HTTP resource was found that matches the request URI '\(uri)'.", detail: detail)
    }
}

/// The responses of a flavour to a request that does not bind to the parameters of a call.
extension NotifyUsersAPI {
    /// Returns the 400 of the stricter flavours for missing parameters.
    func invalid(_ names: [String]) -> BackendResponse {
        guard flavor == .core else {
            return .text(400, "Missing: " + names.joined(separator: ", ") + ".")
        }
        let errors = names.map { ($0, "The \($0) field is required.") }
        return .problem(
            400,
            "One or more validation errors occurred.",
            errors: Dictionary(errors) { first, _ in first }
        )
    }

    /// The response to a body that cannot be parsed. `classic` continues with null and fails because of it.
    var unreadableBody: BackendResponse {
        switch flavor {
        case .classic: serverError
        case .core:
            .problem(
                400,
                "One or more validation errors occurred.",
                errors: ["$": "The JSON value could not be converted."]
            )
        case .net6: .text(400, "The body is not valid JSON.")
        }
    }

    /// Returns the response to a media type that the framework does not support.
    func unsupportedMediaType(_ request: BackendRequest) -> BackendResponse {
        switch flavor {
        case .classic:
            let type = MediaType(request.contentType ?? "application/octet-stream").essence
            return .message(415, "The request entity's media type '\(type)' is not supported for this resource.")
        case .core: return .problem(415, "Unsupported Media Type")
        case .net6: return BackendResponse(415)
        }
    }

    /// Returns Web API's 404 for a request that lacks a parameter of every action.
    func actionNotFound(_ request: BackendRequest, controller: String) -> BackendResponse {
        notFound(request, detail: "No action was found on the controller '\(controller)' that matches the request.")
    }
}

/// `POST /api/notifications`.
extension NotifyUsersAPI {
    /// Sends `From <user>: <message>` to every registration with one of the tags `username:<to_tag>` and `from:<user>`.
    /// Both values are inserted into the hub's tag expression without escaping.
    func send(_ request: BackendRequest, _ query: FormFields, user: String) -> BackendResponse {
        let (pnsValue, recipient) = (query.first("pns"), query.first("to_tag"))
        if flavor == .classic, pnsValue == nil || recipient == nil {
            return actionNotFound(request, controller: "Notifications")
        }
        let message: String
        switch BodyReader(flavor: flavor).message(request.body, contentType: request.contentType) {
        case .model(let text): message = text
        case .unsupportedMediaType where flavor != .classic || !request.body.isEmpty:
            return unsupportedMediaType(request)
        case .unreadable where flavor != .classic: return unreadableBody
        // A classic backend continues with null, which becomes an empty notification.
        case .unreadable, .unsupportedMediaType: message = ""
        }
        if flavor != .classic {
            let missing = [("pns", pnsValue), ("to_tag", recipient)].filter { $0.1?.isEmpty != false }.map(\.0)
            if !missing.isEmpty { return invalid(missing) }
        }
        guard let pnsValue, let recipient, !pnsValue.isEmpty else { return serverError }
        guard let pns = flavor.pns(pnsValue),
            let payload = PayloadTemplate.payload(pns: pns, user: user, message: message)
        else { return BackendResponse(500) }
        do throws(HubFailure) {
            try hub.send(payload, pns: pns, to: "username:" + recipient + "||" + "from:" + user)
            return BackendResponse(200)
        } catch {
            return serverError
        }
    }
}
