import { randomUUID } from 'node:crypto';
import { timeNow } from '../../src/foundation/world.js';
import { SimulatedStore } from '../../simulator/simulated-store.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { eventLogContract, type LogUnderTest } from './event-log.contract.js';

/** The log of the simulator, which stands in for a real one in many tests. */
function inMemoryLog(): Promise<LogUnderTest> {
  const store = new SimulatedStore(randomUUID(), timeNow);
  const logs: InMemoryEventLog[] = [];
  const setAway = (away: boolean): void => {
    for (const log of logs) log.away = away;
  };
  return Promise.resolve({
    open: ({ acceptsClock = false } = {}) => {
      if (acceptsClock) store.acceptClock();
      const log = new InMemoryEventLog(undefined, store);
      logs.push(log);
      return Promise.resolve(log);
    },
    cut: () => undefined,
    freeze: () => setAway(true),
    thaw: () => setAway(false),
    ordinal: (position) => store.positions.number(position),
    dispose: async () => void (await Promise.all(logs.map((log) => log.close()))),
  });
}

eventLogContract('in memory', inMemoryLog, {
  appendHeldOpen: 'an append in memory is never held open',
});
