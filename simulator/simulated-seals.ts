import type {
  ChainCheckpoint,
  ChainSeal,
  SealedEvents,
  SealStore,
  StoredSeal,
} from '../src/chain/chain-seals.js';
import type { ChainSigner } from '../src/chain/chain-signer.js';
import { LOG_START, sealLog, type LogSeal } from '../src/chain/log-seal.js';
import type { SeenEvent } from '../src/event-log/event-log.js';
import type { Line } from './connection.js';
import { KnownSigner } from './known-signer.js';
import { StoreAway } from './store-away.js';

type Row = ChainSeal & SealedEvents;

/** Of the installation: every process signs with it. */
export const SEALS_SIGNER = new KnownSigner(Buffer.alloc(32, 6));

const away = (): Error => new StoreAway('the simulated database is away');

/** The seals of the log as their server holds them. */
export class SimulatedSealTable {
  checkpoint: ChainCheckpoint = { position: undefined, events: 0, version: 0n };
  logSeal: LogSeal | undefined;
  /** The log lost its end, and that is not acknowledged yet. */
  isLossOpen = false;
  /** By chain, oldest first. */
  readonly chains = new Map<string, Row[]>();
  /** What was added together, oldest first. */
  readonly batches: (readonly Row[])[] = [];

  begin(logId: string, signer: ChainSigner): void {
    this.logSeal ??= sealLog(signer, logId, LOG_START);
  }

  add({ version }: ChainCheckpoint, after: LogSeal, seals: readonly Row[]): boolean {
    if (this.checkpoint.version !== version) return false;
    const { events } = after;
    this.checkpoint = { position: after.position ?? undefined, events, version: version + 1n };
    this.logSeal = after;
    if (seals.length > 0) this.batches.push(seals);
    for (const seal of seals) {
      const chain = this.chains.get(seal.chain) ?? [];
      this.chains.set(seal.chain, chain);
      chain.push(seal);
    }
    return true;
  }
}

/** The seals as one process reaches them. */
export const simulatedSeals = (table: SimulatedSealTable, line: Line, logId: string): SealStore => {
  const ask = <T>(question: () => T): Promise<T> => line.read('seals', away, question);
  const change = <T>(work: () => T): Promise<T> => line.write('seals', away, work);
  return {
    logId,
    checkpoint: () => ask(() => table.checkpoint),
    newest: (chains) =>
      ask(() => chains.flatMap((chain) => stored(table.chains.get(chain)?.at(-1)))),
    async *all(chain) {
      yield* await ask(() => (table.chains.get(chain) ?? []).flatMap(stored));
    },
    eventsUnder: ({ chain, events }) =>
      ask(() => {
        const seal = table.chains.get(chain)?.find((one) => one.events === events);
        const { ids = [], positions = [], marks = [] } = seal ?? {};
        return { ids, positions, marks };
      }),
    isSealed: (chain, eventId) =>
      ask(() => (table.chains.get(chain) ?? []).some(({ ids }) => ids.includes(eventId))),
    isLossOpen: () => ask(() => table.isLossOpen),
    async *eventsBackwards() {
      for (const batch of await ask(() => table.batches.toReversed()))
        yield batch.flatMap(eventsOf);
    },
    begin: (signer) => change(() => table.begin(logId, signer)),
    logSeal: () => ask(() => table.logSeal),
    add: (before, after, seals) => change(() => table.add(before, after, seals)),
  };
};

function stored(seal: Row | undefined): readonly StoredSeal[] {
  if (seal === undefined) return [];
  const { ids, positions: _, marks: __, ...rest } = seal;
  return [{ ...rest, count: ids.length }];
}

const eventsOf = ({ ids, positions }: Row): readonly SeenEvent[] =>
  ids.map((eventId, place) => ({ eventId, position: positions[place] ?? '' }));
