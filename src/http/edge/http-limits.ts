import type { PlaceLimits } from './connection-places.js';

/** Limits of the service towards its clients. Times in milliseconds. */
export interface HttpLimits extends PlaceLimits {
  /**
   * Requests that are worked on or wait for their turn, from the arrival of their bodies until
   * their answers are made; more are answered with 503, so that the accepted ones finish in time.
   */
  readonly inFlightMax: number;
  /** Requests that are worked on at once; tenants take turns. */
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
  /** How often late requests, and clients that do not read, are searched for. */
  readonly timeoutCheckMs: number;
  /**
   * Bytes of an unread body that are read and dropped after the answer; beyond it the connection is
   * destroyed.
   */
  readonly restBytesMax: number;
  /** The time limit for the same. */
  readonly restTimeMs: number;
  /**
   * Limit for all incomplete bodies together; beyond it the request with the most bytes is answered
   * with 503.
   */
  readonly arrivingBytesMax: number;
  /**
   * A client that takes less than 16 KiB of its answers in this time loses its connection, unless
   * that is all of them.
   */
  readonly unreadMs: number;
  /**
   * Limit for all answers together that clients have not taken; beyond it the address with the most
   * bytes loses a connection.
   */
  readonly unreadBytesMax: number;
  /**
   * Handles of a listening socket: as many connections are accepted in a turn of the event loop.
   */
  readonly acceptorsPerAddress: number;
  /**
   * Failed credentials of an address in a minute; beyond it they are answered with 429. Beyond as
   * many refusals of any kind to unknown callers, these are sent a moment later.
   */
  readonly failedCredentialsPerMinute: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  inFlightMax: 512,
  atWorkMax: 24,
  deadlineMs: 15_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 75_000,
  timeoutCheckMs: 2_000,
  restBytesMax: 32 * 1024 * 1024,
  restTimeMs: 5_000,
  arrivingBytesMax: 64 * 1024 * 1024,
  unreadMs: 10_000,
  unreadBytesMax: 64 * 1024 * 1024,
  connectionsMax: 4_096,
  connectionsPerAddressMax: 1_024,
  acceptorsPerAddress: 1,
  failedCredentialsPerMinute: 300,
};
