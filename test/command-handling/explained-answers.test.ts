import fc from 'fast-check';
import { CommandHandling } from '../../src/command-handling/handle-command.js';
import type { Outcome } from '../../src/command-handling/outcome.js';
import type { Decision } from '../../src/domain/decision.js';
import type { TenantRegisterEvent } from '../../src/domain/tenant/tenant-register.decider.js';
import { InvalidAppend } from '../../src/event-log/append-checks.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { CommandMeta } from '../../src/event-log/envelope.js';
import { EventLogUnavailable, type EventLog } from '../../src/event-log/event-log.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { runs } from '../support/property-runs.js';

const STREAM = 'account';
const BEGINS_WITH = 5;
/** The log takes no append with it. */
const INVALID = 7;
const codec = new EventCodec(new InMemorySubjectKeys());

/** What is left, and which commands were folded. */
interface Left {
  readonly left: number;
  readonly seen: number;
}
type Accounts = CommandHandling<Left, TenantRegisterEvent>;
type Given = Outcome<Left, TenantRegisterEvent>;

const folding = {
  initialState: { left: BEGINS_WITH, seen: 0 },
  evolve: ({ left, seen }: Left, { alias }: TenantRegisterEvent): Left => ({
    left: left + Number(alias),
    seen: seen + 1,
  }),
};

type Fault = 'none' | 'slow' | 'another process' | 'lost before' | 'lost behind';

interface Wish {
  readonly process: 0 | 1;
  readonly what: 'take' | 'give twice' | 'nothing' | 'throw' | 'invalid';
  readonly amount: number;
  /** Shared: the same request once more. */
  readonly key: number | null;
  readonly goesFirst: boolean;
  /** Sent when the ones before are answered. */
  readonly waits: boolean;
}

const changeOf = (...amounts: readonly number[]): Decision<TenantRegisterEvent> => ({
  events: amounts.map((amount) => ({
    type: 'TenantAliasEntered',
    at: 1,
    alias: `${amount}`,
  })),
});

function decide({ left }: Left, { what, amount }: Wish): Decision<TenantRegisterEvent> {
  switch (what) {
    case 'take':
      return amount > left ? { refused: 'REDEMPTION_NOT_POSSIBLE' } : changeOf(-amount);
    case 'give twice':
      return changeOf(1, amount);
    case 'nothing':
      return { events: [] };
    case 'invalid':
      return changeOf(INVALID);
    case 'throw':
      throw new RangeError('this command cannot be decided');
  }
}

const metaOf = (place: number, key: number | null): CommandMeta => ({
  scope: { tenant: 'demo', mode: 'live' },
  commandId: key === null ? `command ${place}` : `command of key ${key}`,
  correlationId: `request ${place}`,
  causationId: `request ${place}`,
  actor: { kind: 'api-key', id: 'live-1' },
  idempotency: key === null ? null : { key: `key ${key}`, fingerprint: 'the same' },
});

/** The log of both processes; each append meets the next of the faults. */
class FaultyLog extends InMemoryEventLog {
  appends = 0;
  private intruders = 0;

  constructor(private readonly faults: readonly Fault[]) {
    super();
  }

  override async append(...call: Parameters<EventLog['append']>) {
    const fault = this.faults[this.appends++] ?? 'none';
    const [stream, , events] = call;
    if (fault === 'slow') for (let turn = 0; turn < 40; turn++) await Promise.resolve();
    if (fault === 'another process') await this.intrude(stream);
    if (fault === 'lost before') throw new EventLogUnavailable('no answer');
    if (events.some(({ data }) => data.includes(`"${INVALID}"`)))
      throw new InvalidAppend('an event is invalid');
    const result = await super.append(...call);
    if (fault === 'lost behind') throw new EventLogUnavailable('no answer');
    return result;
  }

  private async intrude(stream: string): Promise<void> {
    const all = await this.readAll(undefined, 10_000);
    const event = changeOf(-1);
    const meta = metaOf(1_000 + this.intruders++, null);
    const envelope = { ...meta, tenant: 'demo', mode: 'live' as const };
    const id = `00000000-0000-4000-8000-${String(this.intruders).padStart(12, '0')}`;
    const encoded = await codec.encode('events' in event ? event.events : [], envelope, [id]);
    await super.append(stream, all.length === 0 ? 'no-stream' : BigInt(all.length - 1), encoded);
  }
}

interface Answered {
  readonly wish: Wish;
  readonly meta: CommandMeta;
  readonly outcome: Given | undefined;
  readonly error: unknown;
  /** The events of the log. */
  readonly headBefore: number;
  readonly headAtAnswer: number;
}

async function send(
  log: FaultyLog,
  accounts: Accounts,
  [wish, place]: readonly [Wish, number],
): Promise<Answered> {
  const meta = metaOf(place, wish.key);
  const headOf = async () => (await log.readAll(undefined, 10_000)).length;
  const headBefore = await headOf();
  const asked = accounts.handle(STREAM, meta, (state) => decide(state, wish), {
    goesFirst: wish.goesFirst,
  });
  return asked.then(
    async (outcome) => {
      const headAtAnswer = await headOf();
      return { wish, meta, outcome, error: undefined, headBefore, headAtAnswer };
    },
    (error: unknown) => ({ wish, meta, outcome: undefined, error, headBefore, headAtAnswer: 0 }),
  );
}

async function play(wishes: readonly Wish[], faults: readonly Fault[]) {
  const log = new FaultyLog(faults);
  const open = (): Accounts => new CommandHandling(log, codec, folding);
  const processes = [open(), open()] as const;
  const answers: Promise<Answered>[] = [];
  for (const [place, wish] of wishes.entries()) {
    if (wish.waits) await Promise.all(answers);
    answers.push(send(log, processes[wish.process], [wish, place]));
  }
  const answered = await Promise.all(answers);
  return { log, answered };
}

const numberOf = (position: string | null): number =>
  position === null ? 0 : Number(position.slice('m-'.length));

/** What the log says about each answer. */
async function explain(log: FaultyLog, answered: readonly Answered[], faults: readonly Fault[]) {
  const decoded = await codec.decodeAll(await log.readAll(undefined, 10_000));
  const states = [folding.initialState];
  for (const { event } of decoded)
    states.push(folding.evolve(states.at(-1)!, event as TenantRegisterEvent));
  const eventsOf = (commandId: string) =>
    decoded.filter(({ envelope }) => envelope.commandId === commandId);
  for (const { wish, meta, outcome, error, headBefore, headAtAnswer } of answered) {
    const own = eventsOf(meta.commandId);
    const asked = wish.what === 'throw' ? { events: [] } : decide({ left: 1_000, seen: 0 }, wish);
    // All of its events stand in the log once, one behind the other, or none.
    if (own.length > 0)
      expect(own.map(({ event }) => (event as TenantRegisterEvent).alias)).toEqual(
        'events' in asked ? asked.events.map(({ alias }) => alias) : [],
      );
    expect(own.map(({ recorded }) => recorded.revision - own[0]!.recorded.revision)).toEqual(
      own.map((_, step) => BigInt(step)),
    );
    if (error !== undefined) {
      if (wish.what === 'throw') expect(error).toBeInstanceOf(RangeError);
      else if (error instanceof InvalidAppend) expect(wish.what).toBe('invalid');
      else {
        expect(error).toBeInstanceOf(EventLogUnavailable);
        expect(faults.some((fault) => fault.startsWith('lost'))).toBe(true);
      }
      continue;
    }
    if (outcome?.kind === 'accepted' && outcome.events.length > 0) {
      expect(outcome.eventIds).toEqual(own.map(({ recorded }) => recorded.id));
      expect(outcome.position).toBe(own.at(-1)?.recorded.position);
      expect(outcome.state).toEqual(states[numberOf(outcome.position)]);
      expect(headAtAnswer).toBeGreaterThanOrEqual(numberOf(outcome.position));
      if (!outcome.replayed) {
        const before = states[numberOf(outcome.position) - own.length]!;
        expect(decide(before, wish)).not.toHaveProperty('refused');
      }
      continue;
    }
    // Without effect: so it is at a place of the log that was its end at some time of the call.
    const { position } = outcome as Extract<Given, { kind: 'refused' | 'accepted' }>;
    const at = numberOf(position ?? null);
    expect(at).toBeGreaterThanOrEqual(headBefore);
    expect(at).toBeLessThanOrEqual(headAtAnswer);
    const again = decide(states[at]!, wish);
    if (outcome?.kind === 'refused') expect(again).toHaveProperty('refused');
    else expect(again).toEqual({ events: [] });
  }
}

const one: fc.Arbitrary<Wish> = fc.record({
  process: fc.constantFrom(0 as const, 0 as const, 0 as const, 1 as const),
  what: fc.constantFrom(
    ...(['take', 'take', 'take', 'give twice', 'nothing', 'throw', 'invalid'] as const),
  ),
  amount: fc.integer({ min: 1, max: 4 }),
  key: fc.constantFrom(null, null, null, 1, 2),
  goesFirst: fc.constantFrom(false, false, false, true),
  waits: fc.constantFrom(false, false, false, false, true),
});
/** A key belongs to one request. */
const wish = one.map((drawn): Wish =>
  drawn.key === null ? drawn : { ...drawn, what: 'take', amount: drawn.key },
);
const fault = fc.constantFrom<Fault>(
  ...(['none', 'none', 'slow', 'another process', 'lost before', 'lost behind'] as const),
);

const taking = (amount: number): Wish => ({
  process: 0,
  what: 'take',
  amount,
  key: null,
  goesFirst: false,
  waits: false,
});

it('commands are answered as the log explains, whatever fails and while other processes write', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(wish, { minLength: 1, maxLength: 24 }),
      fc.array(fault, { maxLength: 12 }),
      async (wishes, faults) => {
        const { log, answered } = await play(wishes, faults);
        await explain(log, answered, faults);
      },
    ),
    {
      numRuns: runs(200),
      // The second one meets an event of another process.
      examples: [
        [
          [taking(3), taking(2), taking(1)],
          ['none', 'another process'],
        ],
      ],
    },
  );
});
