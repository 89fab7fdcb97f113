internal import GatewayCore
internal import NIOCore

/// A translator between the steps of plans and the protocol of one kind of backend. Plans, ledger, journal and limits do
/// not depend on the kind.
///
/// Called on event loops; no function waits.
protocol StepCodec: AnyObject, Sendable {
    /// The name of the header field with the gateway's credential, which explanations hide.
    var credentialField: String { get }
    /// Whether a successful upsert proves that the notification hub has stored the registration.
    var confirmsUpdates: Bool { get }
    /// Whether a reservation with a handle only lists the registrations of the handle. Otherwise the backend keeps one of
    /// them, deletes the others and returns the id of the one, or a new id.
    var listsRegistrations: Bool { get }

    /// Returns the content of a send: the payload of the push service, or the escaped text if the backend builds the
    /// payload.
    ///
    /// Throws if the payload would be longer than the push service accepts, or cannot represent the text.
    func content(of text: String, for service: PushService, from sender: UserName) throws(Rejection) -> [UInt8]

    /// Returns the payload of a secure send, which contains the id in place of the text; nil if the backend builds the
    /// payloads itself.
    func secureContent(id: String, for service: PushService) -> [UInt8]?

    /// Returns the request of a step; nil if the backend does not support the push service, which is an error in the
    /// plan.
    ///
    /// - Parameter reserved: The id that the backend assigned in an earlier step, or a placeholder.
    func request(for step: UpstreamStep, caller: UserName, reserved: String?, _ origin: RequestOrigin) -> ByteBuffer?

    /// Returns the meaning of a response to the request of a step.
    func decode(_ response: BackendResponse, to step: UpstreamStep) -> DecodedResponse

    /// Returns the number of seconds, at least 1, for which the backend has asked for no requests of this kind; nil if
    /// it accepts them.
    func pause(of kind: UpstreamStep.Kind) -> Int?
}

/// The ids that correlate a request with the logs of backend and gateway.
struct RequestOrigin {
    /// The call that causes the request.
    let call: CallID
    /// The trace of the call; nil for a request that is only displayed.
    let trace: TraceContext?
    /// The request's own id in the trace.
    let span: UInt64
}

/// The meaning of a backend's response.
struct DecodedResponse {
    /// The result of the step.
    var result: StepResult
    /// The detail for the log.
    var detail: String
    /// After a reservation: the id.
    var reserved: RegistrationID?
    /// After a reservation that only lists: the registrations of the handle that the gateway may use, in the order of
    /// the list.
    var listed: [RegistrationID] = []
    /// After a send: the backend's id of the notification.
    var notification: String?
    /// The seconds after which the request may be repeated; nil if the backend did not reject it as too early.
    var retryAfter: Int?

    init(_ result: StepResult, _ detail: String = "") {
        self.result = result
        self.detail = detail
    }
}

/// The result of one step.
enum StepResult: Sendable, Hashable {
    /// The backend carried out the step.
    case done
    /// The registration no longer exists at the backend.
    case gone
    /// The step failed, or its result is unknown.
    case failed
}
