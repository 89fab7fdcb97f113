internal import Gateway
internal import NIOCore

extension UpstreamConnectionPool {
    /// Starts the periodic health checks of all addresses. Only one loop runs them, on behalf of all loops.
    func startChecks() {
        guard let check = configuration.healthCheck, !isShutDown else { return }
        for destination in destinations {
            let request = ByteBuffer(
                string: "GET \(check.path) HTTP/1.1\r\nHost: \(configuration.host)\r\nAccept: */*\r\n\r\n")
            sendCheck(destination, request, check)
        }
    }

    private func sendCheck(
        _ destination: UpstreamDestination, _ request: ByteBuffer, _ check: UpstreamConfiguration.Check
    ) {
        if isShutDown { return }
        let exchange = PendingExchange(
            bytes: request, isRetryable: false, deadline: eventLoop.now + check.timeout, caller: nil
        ) { result in
            switch result {
            case .responded(let response): destination.health.isGood = response.status < 500
            case .unreachable, .broken, .timedOut: destination.health.isGood = false
            // These results say nothing about the backend.
            case .gatewayStopped, .overloaded, .circuitOpen, .withdrawn: break
            }
            let loop = NIOLoopBound(self, eventLoop: self.eventLoop)
            let place = NIOLoopBound(destination, eventLoop: self.eventLoop)
            self.checks.append(
                self.eventLoop.scheduleTask(in: check.period) {
                    loop.value.checks.removeFirst()
                    loop.value.sendCheck(place.value, request, check)
                })
        }
        // A health check ignores the circuit breaker: it tests whether the address responds.
        connect(for: exchange, to: destination, isCheck: true)
    }

    /// Schedules the probe connection of an open circuit. No call waits for it.
    func scheduleHalfOpenProbe(of destination: UpstreamDestination) {
        guard let retry = destination.circuit.retry, !isShutDown else { return }
        destination.halfOpenProbe?.cancel()
        destination.halfOpenProbe = eventLoop.assumeIsolated().scheduleTask(deadline: retry) {
            self.startProbe(destination)
        }
    }

    private func startProbe(_ destination: UpstreamDestination) {
        destination.halfOpenProbe = nil
        if isShutDown { return }
        destination.circuit.beginHalfOpen()
        connect(for: nil, to: destination, isCheck: true)
    }
}

// Selection of the destination of a request, and the state of the destinations.

extension UpstreamConnectionPool {
    /// Returns the least busy available destination that the request has not tried; equally busy ones alternate; nil if
    /// there is none.
    func destination(for exchange: PendingExchange) -> UpstreamDestination? {
        var best: UpstreamDestination?
        for offset in destinations.indices {
            let index = (turn + offset) % destinations.count
            let destination = destinations[index]
            guard destination.isAvailable, !exchange.tried.contains(ObjectIdentifier(destination)) else { continue }
            if best.map({ destination.busy < $0.busy }) ?? true { best = destination }
        }
        turn = (turn + 1) % destinations.count
        return best
    }

    /// Records that an address could not be reached or closed a new connection without a response.
    func recordFailure(of destination: UpstreamDestination) {
        destination.circuit.failed(now: eventLoop.now)
        guard !destination.circuit.isClosed else { return }
        scheduleHalfOpenProbe(of: destination)
        // Without an available destination, queued requests fail at once.
        guard !destinations.contains(where: \.isAvailable) else { return }
        while let exchange = waiting.popFirst() { exchange.finish(.circuitOpen) }
    }
}
