// Over 5 s: the whole contract over a proxy that breaks and freezes connections.
import {
  EventStoreDbEventLog,
  type EventStoreDbEventLogOptions,
} from '../../src/event-log/eventstoredb/eventstoredb-event-log.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { freshNamespace, startEventStore } from '../support/event-store.js';
import { startTcpProxy } from '../harness/tcp-proxy.js';
import { eventLogContract, type LogUnderTest } from './event-log.contract.js';
import { openOnce } from '../support/opened.js';

const store = openOnce(startEventStore, 'stop');

async function eventStoreDbLog(): Promise<LogUnderTest> {
  const [host] = store.address.hosts;
  if (host === undefined) throw new Error('no host');
  const proxy = await startTcpProxy({ host: host.address, port: host.port });
  const namespace = freshNamespace();
  const logs: EventLog[] = [];
  return {
    open: (options: Partial<EventStoreDbEventLogOptions> = {}) => {
      const address = { ...store.address, hosts: [{ address: '127.0.0.1', port: proxy.port }] };
      const log = new EventStoreDbEventLog({
        address,
        owner: 'test',
        namespace,
        prefix: '',
        ...options,
      });
      logs.push(log);
      return Promise.resolve(log);
    },
    cut: () => proxy.cut(),
    freeze: () => proxy.freeze(),
    thaw: () => proxy.thaw(),
    dispose: async () => {
      proxy.thaw();
      await Promise.all(logs.map((log) => log.close()));
      await proxy.close();
    },
  };
}

eventLogContract('eventstoredb', eventStoreDbLog, {
  appendHeldOpen: 'a client of EventStoreDB has no append that it could hold open',
});
