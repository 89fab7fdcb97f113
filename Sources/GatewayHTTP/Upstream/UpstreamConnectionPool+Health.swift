internal import Gateway
internal import NIOCore

extension UpstreamConnectionPool {
    /// Checks every address again and again, for all loops: to be called on one of them.
    func startChecks() {
        guard let check = configuration.check, !isShutDown else { return }
        for destination in destinations {
            let request = ByteBuffer(
                string: "GET \(check.path) HTTP/1.1\r\nHost: \(configuration.host)\r\nAccept: */*\r\n\r\n")
            ask(destination, request, check)
        }
    }

    private func ask(
        _ destination: UpstreamDestination, _ request: ByteBuffer, _ check: UpstreamConfiguration.Check
    ) {
        if isShutDown { return }
        let exchange = PendingExchange(
            bytes: request, mayBeRepeated: false, deadline: eventLoop.now + check.timeout
        ) { answer in
            switch answer {
            case .answered(let response): destination.health.isGood = response.status < 500
            case .unreachable, .broken, .timedOut: destination.health.isGood = false
            // Says nothing of the backend.
            case .cutOff, .overloaded, .suspended: break
            }
            let loop = NIOLoopBound(self, eventLoop: self.eventLoop)
            let place = NIOLoopBound(destination, eventLoop: self.eventLoop)
            self.checks.append(
                self.eventLoop.scheduleTask(in: check.period) {
                    loop.value.checks.removeFirst()
                    loop.value.ask(place.value, request, check)
                })
        }
        // Whatever the circuit says: that the address answers is just what is to be found out.
        connect(for: exchange, to: destination, isCheck: true)
    }

    /// An address that is left alone is tried when its time has come; no call waits for it.
    func scheduleHalfOpenProbe(of destination: UpstreamDestination) {
        guard let retry = destination.circuit.retry, !isShutDown else { return }
        destination.halfOpenProbe?.cancel()
        destination.halfOpenProbe = eventLoop.assumeIsolated().scheduleTask(deadline: retry) {
            self.tryAgain(destination)
        }
    }

    private func tryAgain(_ destination: UpstreamDestination) {
        destination.halfOpenProbe = nil
        if isShutDown { return }
        destination.circuit.beginHalfOpen()
        connect(for: nil, to: destination, isCheck: true)
    }
}
