/**
 * How fast something went, and what it cost this process: the second does not depend on what else
 * the machine does.
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
