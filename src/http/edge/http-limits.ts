/** Limits towards clients; times in milliseconds. */
export const DEFAULT_HTTP_LIMITS = {
  /** Connections of all clients; more are closed without an answer. */
  connectionsMax: 4_096,
  /** Per address; trusted proxies are exempt. */
  connectionsPerAddressMax: 256,
  /** Running and waiting requests; more are answered with 503. */
  inFlightMax: 512,
  /** Running requests. */
  atWorkMax: 24,
  /** From head to answer; then 503, or 408 for an incomplete body. */
  deadlineMs: 15_000,
  headersTimeoutMs: 10_000,
  /** For a whole request with its body. */
  requestTimeoutMs: 30_000,
  /** Longer than a proxy's, which would otherwise send into a closing socket. */
  keepAliveTimeoutMs: 75_000,
  /** Interval of checks for late requests. */
  timeoutCheckMs: 2_000,
  /** Disconnects a client that reads nothing of its answer for this time. */
  unreadMs: 10_000,
};

export type HttpLimits = Readonly<typeof DEFAULT_HTTP_LIMITS>;
