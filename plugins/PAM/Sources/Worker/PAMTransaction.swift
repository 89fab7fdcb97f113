internal import CPAM
internal import Foundation
internal import GatewayCore

/// One conversation with libpam, in the worker. Blocks for as long as the modules do.
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

    /// Asks the modules, then the account database, and ends the transaction before it answers: a module that crashes when it
    /// is closed has vouched for nobody.
    ///
    /// - Parameter state: the process before any module was asked.
    static func answer(
        to request: WorkerRequest, directory: String?, in state: WorkerState
    ) -> WorkerAnswer {
        guard RemoteHost.isAddress(request.remoteHost) else { return .refusal(.notStarted) }
        return request.password.withUnsafeBytes { secret in
            let password = secret.assumingMemoryBound(to: CChar.self).baseAddress
            guard
                var transaction = PAMTransaction(
                    request, password: secret.isEmpty ? nil : password, directory: directory)
            else { return .refusal(.notStarted) }
            return transaction.judge(request, in: state)
        }
    }

    private mutating func judge(_ request: WorkerRequest, in state: WorkerState) -> WorkerAnswer {
        guard set(PAM_RHOST, request.remoteHost), set(PAM_TTY, "notify-gateway") else { return .refusal(.notStarted) }
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
        guard let user = finalUser else { return .refusal(.unreadableUser) }
        // The account would be looked up in another place, or by somebody who may not.
        guard state.changes().isDisjoint(with: .misleading) else { return .refusal(.changedProcess) }
        // For refused logins too: how long an answer takes must not depend on what was wrong.
        let entry = SystemAccounts.entry(of: user, mustBeSure: request.operation == .standing)
        return .findings(
            WorkerFindings(authentication: authentication, account: account, user: user, entry: entry))
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
