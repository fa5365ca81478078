import fc, { type Scheduler } from 'fast-check';
import type { UpsertUserRequest } from '../../src/domain/account/requests/upsert-user-request.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { EventLogUnavailable, type EventLog } from '../../src/event-log/event-log.js';
import {
  aRequest,
  refOf,
  SharedLedger,
  type TestProcess,
} from '../command-handling/support/processes.js';
import { runs } from '../support/property-runs.js';

/**
 * For any commands in flight in two processes, any order of their reads and appends, any crash in
 * between, late appends and erasures: no account can claim a code that another one shows.
 */
const { scope: SCOPE } = aRequest();
const CODES = ['FOO', 'BAR'] as const;
const PROVIDER_ID = 'cus_1';

interface Asked {
  readonly process: number;
  readonly accountId: string;
  readonly userId: string;
  readonly what: 'upsert' | 'forget' | 'time passes';
  readonly referralCode: string | undefined;
  readonly paymentProviderId: string | undefined;
}
const asked: fc.Arbitrary<Asked> = fc.record({
  process: fc.nat(2),
  accountId: fc.constantFrom('one', 'two'),
  userId: fc.constantFrom('ann', 'bob'),
  what: fc.constantFrom(
    'upsert' as const,
    'upsert' as const,
    'upsert' as const,
    'upsert' as const,
    'forget' as const,
    'time passes' as const,
  ),
  referralCode: fc.constantFrom(...CODES, undefined),
  paymentProviderId: fc.constantFrom(PROVIDER_ID, undefined, undefined),
});

function upsert({ accountId, userId, referralCode, paymentProviderId }: Asked): UpsertUserRequest {
  return {
    type: 'UpsertUser',
    userId,
    openAccount: accountId,
    changes: {},
    referralCode,
    referralCodes: {},
    paymentProviderId,
    codes: [],
  };
}

/**
 * Every call waits for its turn, which the scheduler gives. After so many appends the process is
 * dead, the last one unanswered.
 */
function troubled(log: EventLog, scheduler: Scheduler, appendsMax: number): EventLog {
  let appends = 0;
  const turn = async (call: string): Promise<void> => {
    await scheduler.schedule(Promise.resolve(), call);
    if (appends >= appendsMax) throw new EventLogUnavailable('the process is dead');
  };
  const isScheduled = (stream: string): boolean => /^referral-(account|code|payment)-/.test(stream);
  return new Proxy(log, {
    get: (target, member: keyof EventLog) => {
      if (member === 'append')
        return async (...call: Parameters<EventLog['append']>) => {
          await turn(`append to ${call[0]}`);
          const result = await target.append(...call);
          if (result.kind === 'appended' && ++appends >= appendsMax)
            throw new EventLogUnavailable('the process is dead');
          return result;
        };
      if (member === 'readStream')
        return async function* (...call: Parameters<EventLog['readStream']>) {
          if (isScheduled(call[0])) await turn(`read ${call[0]}`);
          yield* target.readStream(...call);
        };
      const value: unknown = Reflect.get(target, member);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** What people and accounts show, by what it is: as it stands in the log. */
async function shown(
  process: TestProcess,
): Promise<Map<string, { readonly account: string; readonly person: string | null }[]>> {
  const found = new Map<string, { account: string; person: string | null }[]>();
  const add = (what: string, account: string, person: string | null) =>
    found.set(what, [...(found.get(what) ?? []), { account, person }]);
  for (const accountId of ['one', 'two']) {
    const account = refOf(accountId);
    const stream = process.names.accountStream(SCOPE, account);
    const { state } = await process.streams.accounts.load(stream);
    if (state.status === 'absent') continue;
    if (state.paymentProviderId !== null) add(PROVIDER_ID, account, null);
    for (const { person, codes } of state.users.values())
      for (const { code } of codes.values()) add(code, account, person);
  }
  return found;
}

let passed = 0;
beforeEach(() => {
  passed = 0;
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + passed);
});
afterEach(() => {
  jest.restoreAllMocks();
});

it('every shown code and payment provider id belongs to its holder only, and no other account can claim it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(asked, { minLength: 2, maxLength: 8 }),
      fc.nat(12),
      async (scheduler, commands, appends) => {
        const ledger = await SharedLedger.open();
        const processes = await Promise.all(
          [Infinity, Infinity, appends].map((max) =>
            ledger.process({ around: (log) => troubled(log, scheduler, max) }),
          ),
        );
        const outcomes = commands.map(async (command, index) => {
          await scheduler.schedule(Promise.resolve(), `${command.what} ${index}`);
          if (command.what === 'time passes') return void (passed += 121_000);
          const request =
            command.what === 'upsert'
              ? upsert(command)
              : ({
                  type: 'ForgetUser',
                  userId: command.userId,
                  doNotTrack: false,
                  preserveEmptyAccount: true,
                } as const);
          return processes[command.process]?.send(
            command.accountId,
            request,
            aRequest(`command ${index}`),
          );
        });
        await scheduler.waitFor(Promise.allSettled(outcomes));

        const after = await ledger.process();
        const all = await shown(after);
        for (const [what, holders] of all) {
          expect([what, holders.length]).toEqual([what, 1]);
          const stream =
            what === PROVIDER_ID
              ? after.names.paymentProviderIdStream(SCOPE, what)
              : after.names.codeStream(SCOPE, what);
          expect((await after.streams.reservations.load(stream)).state).toMatchObject({
            status: 'held',
            holder: holders[0],
          });
        }
        // However long it takes: what nobody shows is free at last, but for what somebody forgotten
        // had; what is shown never is.
        passed += 10 * 121_000;
        const facts = [...(await after.factsOf('one')), ...(await after.factsOf('two'))];
        for (const what of CODES) {
          const thief = upsert({
            ...commands[0]!,
            userId: 'thief',
            referralCode: what,
            paymentProviderId: undefined,
          });
          const stolen = await after.send(
            'three',
            { ...thief, openAccount: 'three' },
            aRequest(`thief of ${what}`),
          );
          const isTaken = all.has(what) || wasOfSomebodyForgotten(facts, what);
          if (isTaken)
            expect(stolen).toMatchObject({ kind: 'refused', refused: 'REFERRAL_CODE_TAKEN' });
        }
      },
    ),
    { numRuns: runs(25) },
  );
});

function wasOfSomebodyForgotten(facts: readonly AccountEvent[], code: string): boolean {
  const forgotten = new Set(
    facts.flatMap((event) => (event.type === 'ErasureRequested' ? event.persons : [])),
  );
  return facts.some(
    (event) =>
      event.type === 'ReferralCodeAssigned' &&
      event.code.value === code &&
      forgotten.has(event.person),
  );
}
