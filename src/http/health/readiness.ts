/** The state of a dependency or a projection. */
export interface HealthCheck {
  readonly ok: boolean;
  /** Details for operators, such as lag and position; never addresses, secrets or clients' ids. */
  readonly [detail: string]: boolean | number | string | null;
}

export interface Readiness {
  /** Requests can be served, even with parked streams. */
  readonly ready: boolean;
  /** Requests can be served, but background work makes no progress; its check names it. */
  readonly degraded?: boolean;
  /** By name, such as `postgres`, `event-log`, `projection rewards`. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
}

/** Answers within its own short time limits. Never rejects. */
export interface ReadinessProbe {
  check(): Promise<Readiness>;
}

export const READINESS_PROBE = Symbol('readiness probe');
