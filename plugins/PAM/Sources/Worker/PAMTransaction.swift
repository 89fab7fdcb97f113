internal import CPAM
internal import Foundation
internal import GatewayCore
internal import GatewaySupport

/// One libpam transaction, in the worker. Blocks as long as the modules do.
struct PAMTransaction: ~Copyable {
    private let handle: OpaquePointer
    private var status: CInt = PAM_SUCCESS

    private init?(_ request: WorkerRequest, password: UnsafePointer<CChar>?, directory: String?) {
        var handle: OpaquePointer?
        let status = notify_gateway_pam_start(request.service, request.user, password, directory, &handle)
        guard status == PAM_SUCCESS, let handle else {
            if let handle { pam_end(handle, status) }
            return nil
        }
        self.handle = handle
    }

    deinit { pam_end(handle, status) }

    /// Calls the modules and the account database. Ends the transaction before it returns, so that a module that
    /// crashes in its cleanup accepts no login.
    ///
    /// - Parameter stack: the service's stack, which has no errors.
    /// - Parameter state: the state of the process before any module was called.
    static func answer(
        to request: WorkerRequest, _ stack: ServiceStack, directory: String?, in state: WorkerState
    ) -> WorkerResponse {
        guard RemoteHost.isAddress(request.remoteHost) else { return .rejection(.notStarted) }
        return request.password.withUnsafeBytes { secret in
            let password = secret.assumingMemoryBound(to: CChar.self).baseAddress
            guard
                var transaction = PAMTransaction(
                    request, password: secret.isEmpty ? nil : password, directory: directory)
            else { return .rejection(.notStarted) }
            // libpam has read the files now. What it has read is what was checked only if they have not changed.
            guard stack.isCurrent else { return .invalidStack("the files of the stack changed during this login") }
            return transaction.run(request, stack, in: state)
        }
    }

    private mutating func run(
        _ request: WorkerRequest, _ stack: ServiceStack, in state: WorkerState
    ) -> WorkerResponse {
        guard set(PAM_RHOST, request.remoteHost), set(PAM_TTY, "notify-gateway") else { return .rejection(.notStarted) }
        let flags = CInt(bitPattern: PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK)
        var authentication: PAMCode?
        var account: PAMCode?
        if request.operation == .login {
            status = pam_authenticate(handle, flags)
            authentication = PAMCode(status)
        }
        if status == PAM_SUCCESS {
            status = pam_acct_mgmt(handle, flags)
            account = PAMCode(status)
        }
        guard let user = finalUser else { return .rejection(.unreadableUser) }
        // With another user or root directory, the account database could be a different one or not readable.
        guard state.changes().isDisjoint(with: .misleading) else { return .rejection(.changedProcess) }
        // Looked up after a rejection too, so that the duration does not reveal the reason.
        let entry = SystemAccounts.entry(of: user, ambiguousIsUnreadable: request.operation == .accountStatus)
        return .workerResult(
            WorkerResult(
                authentication: authentication, account: account, user: user, entry: entry,
                facts: Self.facts(about: user, stack)))
    }

    private static func facts(about user: String, _ stack: ServiceStack) -> WorkerResult.Facts {
        var facts: WorkerResult.Facts = []
        if stack.calls("pam_exec.so", in: .auth) { facts.insert(.commandInAuth) }
        if stack.calls("pam_exec.so", in: .account) { facts.insert(.commandInAccount) }
        let shadow = ShadowEntry(of: user)
        if shadow.isExpired { facts.insert(.expired) }
        if shadow.isLocked, stack.endsWithLockedPassword { facts.insert(.locked) }
        return facts
    }

    /// The user as the modules left it.
    private var finalUser: String? {
        var item: UnsafeRawPointer?
        guard pam_get_item(handle, PAM_USER, &item) == PAM_SUCCESS, let item else { return nil }
        let text = item.assumingMemoryBound(to: CChar.self)
        return String(validatingCString: text)
    }

    private func set(_ item: CInt, _ text: String) -> Bool {
        text.withCString { pam_set_item(handle, item, $0) == PAM_SUCCESS }
    }
}
