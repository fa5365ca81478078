/** Limits of the service towards its clients. Times in milliseconds. */
export const DEFAULT_HTTP_LIMITS = {
  /** Connections of all clients; more are closed without an answer. */
  connectionsMax: 4_096,
  /** Connections of one address; a trusted proxy has no such limit. */
  connectionsPerAddressMax: 256,
  /** Requests that are worked on or wait for it; more are answered with 503. */
  inFlightMax: 512,
  /** Requests that are worked on concurrently. */
  atWorkMax: 24,
  /** From the head to the answer; then 503, or 408 when the body is still incomplete. */
  deadlineMs: 15_000,
  /** For the head of a request to arrive. */
  headersTimeoutMs: 10_000,
  /** For a whole request to arrive, body included. */
  requestTimeoutMs: 30_000,
  /** For an idle connection. Longer than the proxy's, which would send into a closing socket. */
  keepAliveTimeoutMs: 75_000,
  /** Between searches for late requests. */
  timeoutCheckMs: 2_000,
  /** A client that takes nothing of its answer for so long loses its connection. */
  unreadMs: 10_000,
};

export type HttpLimits = Readonly<typeof DEFAULT_HTTP_LIMITS>;
