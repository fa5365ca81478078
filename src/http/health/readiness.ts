/** The state of one dependency of the service, or of one projection. */
export interface HealthCheck {
  readonly ok: boolean;
  /**
   * Details for operators: lag, position, generation … Never an address, a secret or a client's id.
   */
  readonly [detail: string]: boolean | number | string | null;
}

export interface Readiness {
  /** Requests can be served. A single parked stream does not make the service unready. */
  readonly ready: boolean;
  /** Requests can be served, but background work stands still; its check says where. */
  readonly degraded?: boolean;
  /** By name: `postgres`, `event-log`, `projection rewards` … */
  readonly checks: Readonly<Record<string, HealthCheck>>;
}

/** Answers within its own short time limits and does not reject. */
export interface ReadinessProbe {
  check(): Promise<Readiness>;
}

export const READINESS_PROBE = Symbol('readiness probe');
