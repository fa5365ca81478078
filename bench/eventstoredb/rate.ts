/**
 * A rate, and its cost in CPU time of this process, which does not depend on the load of the
 * machine.
 */
export interface Rate {
  readonly perSecond: number;
  /** Microseconds of this process's CPU time for each. */
  readonly cpuUs: number;
}

/** Starts to measure; the function that is returned ends it, after so many. */
export function startClock(): (done: number) => Rate {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  return (done) => {
    const { user, system } = process.cpuUsage(cpu);
    return {
      perSecond: done / ((performance.now() - startedAt) / 1000),
      cpuUs: (user + system) / done,
    };
  };
}
