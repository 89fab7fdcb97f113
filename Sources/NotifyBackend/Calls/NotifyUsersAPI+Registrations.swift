/// `POST`, `PUT` and `DELETE /api/register`.
extension NotifyUsersAPI {
    /// Responds with an id for a handle: the id of the first registration found for it, or a new one. Further
    /// registrations of the handle are deleted.
    func reserve(_ request: BackendRequest, _ query: FormFields) -> BackendResponse {
        do throws(HubFailure) {
            var id: String?
            if let handle = query.first("handle"), !handle.isEmpty {
                let found = try hub.registrations(foundBy: handle, limit: 100)
                id = found.first?.id
                for other in found.dropFirst() { try hub.delete(id: other.id) }
            }
            if let id { return idResponse(id, accept: request.accept) }
            return idResponse(try hub.reserveID(), accept: request.accept)
        } catch {
            return serverError
        }
    }

    private func idResponse(_ id: String, accept: String?) -> BackendResponse {
        guard flavor == .classic else { return .text(200, id) }
        guard AcceptHeader(accept ?? "").prefersXML else {
            return BackendResponse(
                200, contentType: "application/json; charset=utf-8", body: BackendResponse.quoted(id))
        }
        let text = id.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return BackendResponse(
            200,
            contentType: "application/xml; charset=utf-8",
            body: "<string xmlns=\"http://schemas.microsoft.com/2003/10/Serialization/\">\(text)</string>"
        )
    }

    /// Registers a device with the requested tags and `username:<user>`. The owner of the id is not checked.
    func upsert(_ request: BackendRequest, id: String?, user: String) -> BackendResponse {
        guard let id else { return missingID(request) }
        let device: DeviceRegistration
        switch BodyReader(flavor: flavor).registration(request.body, contentType: request.contentType) {
        case .model(let model): device = model
        case .unreadable: return unreadableBody
        case .unsupportedMediaType: return unsupportedMediaType(request)
        }
        if flavor != .classic, let rejection = rejection(of: device) { return rejection }
        guard let platform = flavor.platform(device.platform ?? "") else {
            switch flavor {
            case .classic: return BackendResponse(400)
            case .core: return serverError
            case .net6: return .text(400, "Unknown platform.")
            }
        }
        guard let handle = device.handle, !handle.isEmpty, let tags = device.tags else { return serverError }
        do throws(HubFailure) {
            try hub.upsert(id: id, platform: platform, handle: handle, tags: tags + ["username:" + user])
            return BackendResponse(200)
        } catch {
            guard flavor == .net6 else { return serverError }
            return BackendResponse(error == .busy ? 503 : 200)
        }
    }

    /// Returns the response of the stricter flavours to missing members; nil if there are none.
    private func rejection(of device: DeviceRegistration) -> BackendResponse? {
        var missing: [String] = []
        if device.platform == nil { missing.append("Platform") }
        if device.handle == nil || (flavor == .net6 && device.handle?.isEmpty == true) { missing.append("Handle") }
        if device.tags == nil { missing.append("Tags") }
        return missing.isEmpty ? nil : invalid(missing)
    }

    /// Deletes the resource that the id addresses. The owner is not checked.
    func delete(_ request: BackendRequest, id: String?) -> BackendResponse {
        guard let id else { return missingID(request) }
        do throws(HubFailure) {
            try hub.delete(id: id)
            return BackendResponse(200)
        } catch {
            return serverError
        }
    }

    private func missingID(_ request: BackendRequest) -> BackendResponse {
        flavor == .classic ? actionNotFound(request, controller: "Register") : invalid(["id"])
    }
}
