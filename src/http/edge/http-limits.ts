/** Limits of the service towards its clients. Times in milliseconds. */
export interface HttpLimits {
  /** Connections of all clients; more are closed without an answer. */
  readonly connectionsMax: number;
  /** Connections of one address; a trusted proxy has no such limit. */
  readonly connectionsPerAddressMax: number;
  /** Requests that are worked on or wait for it; more are answered with 503. */
  readonly inFlightMax: number;
  /** Requests that are worked on at once. */
  readonly atWorkMax: number;
  /**
   * From the arrival of the head to the answer; then 503, or 408 when the body is still incomplete.
   */
  readonly deadlineMs: number;
  /** For the head of a request to arrive. */
  readonly headersTimeoutMs: number;
  /** For a whole request to arrive, body included. */
  readonly requestTimeoutMs: number;
  /**
   * How long an idle connection is kept. Longer than the proxy's own limit, or the proxy would send
   * into a closing socket.
   */
  readonly keepAliveTimeoutMs: number;
  /** How often late requests are searched for. */
  readonly timeoutCheckMs: number;
  /** A client that takes nothing of its answer for so long loses its connection. */
  readonly unreadMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connectionsMax: 4_096,
  connectionsPerAddressMax: 256,
  inFlightMax: 512,
  atWorkMax: 24,
  deadlineMs: 15_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 75_000,
  timeoutCheckMs: 2_000,
  unreadMs: 10_000,
};
