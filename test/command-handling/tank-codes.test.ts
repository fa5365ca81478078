import { ProgramVersions } from '../../src/command-handling/needs/program-versions.js';
import { TankCodes } from '../../src/command-handling/needs/tank-codes.js';
import { TenantDirectory } from '../../src/tenants/tenant-directory.js';
import type { NeededTankCode } from '../../src/domain/need.js';
import { decide } from '../../src/domain/fuel-tank/tank-codes.decider.js';
import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { terms } from '../domain/support/account-scenario.js';
import { accepted, aRequest, refOf, SharedLedger, type TestProcess } from './support/processes.js';
import { openForEach } from '../support/opened.js';

const CODES = ['TANK-1', 'TANK-2', 'TANK-3'];
const program = {
  id: 'default',
  referredReward: { type: 'FUELTANK', fuelTankCodes: CODES, fuelTankType: 'CREDIT', amount: 5 },
  referrerReward: null,
};

const ledger = openForEach(() => SharedLedger.open(program));

const START = Date.now();
const processAt = (minutesLater: number): Promise<TestProcess> =>
  ledger.process({ clock: () => START + minutesLater * 60_000 });

/** What a referral of this account brought its referred side: the code, or why none. */
async function refer(process: TestProcess, accountId: string): Promise<string | undefined> {
  accepted(await process.sync(accountId, 'TRIAL', ['ANN']));
  const { events } = accepted(await process.upsert(accountId, 'user'));
  const [outcome] = events.flatMap((event) => {
    if (event.type === 'RewardWithheld') return [event.reason];
    return event.type === 'RewardGranted' && event.value.type === 'FUELTANK'
      ? [event.value.fuelTankCode]
      : [];
  });
  return outcome;
}

/** As a command leaves it that ended before its account had recorded the reward. */
async function reservedByACrash(process: TestProcess, code: string): Promise<void> {
  const { scope } = aRequest();
  const holder = { account: refOf('crashed'), rewardId: `reward of ${code}` };
  const outcome = await process.streams.tankCodes.handle(
    process.names.tankCodesStream(scope),
    aRequest(),
    (state) =>
      decide(state, {
        type: 'ReserveTankCode',
        codes: [code],
        holder,
        claim: 'of a crash',
        now: START,
      }),
  );
  if (outcome.kind !== 'accepted' || outcome.events.length === 0)
    throw new Error('the code was not free');
}

it('two processes hand out every code once, under any number of requests', async () => {
  const processes = [await processAt(0), await processAt(0)];
  await processes[0]?.userWithCode('anns', 'ann', 'ANN');
  const asked = Array.from({ length: 6 }, (_, index) => {
    const process = processes[index % 2];
    return process
      ? refer(process, `friend-${index}`)
      : Promise.reject(new Error('a process is needed'));
  });
  expect((await Promise.all(asked)).sort()).toEqual([
    'POOL_EMPTY',
    'POOL_EMPTY',
    'POOL_EMPTY',
    ...CODES,
  ]);
});

it('a code that a crash left reserved is free again later, unless an account has recorded it', async () => {
  const [now, soon, later] = [await processAt(0), await processAt(1), await processAt(3)];
  await now.userWithCode('anns', 'ann', 'ANN');
  for (const code of ['TANK-1', 'TANK-2']) await reservedByACrash(now, code);
  expect(await refer(now, 'first')).toBe('TANK-3');
  expect(await refer(soon, 'second')).toBe('POOL_EMPTY');
  expect([await refer(later, 'third'), await refer(later, 'fourth')]).toEqual(['TANK-1', 'TANK-2']);
  expect(await refer(await processAt(9), 'fifth')).toBe('POOL_EMPTY');
});

it.each([
  ['stays', false],
  ['is deleted since', true],
])(
  'a code whose account has recorded it and %s stays taken, also when the crash came before it was handed out',
  async (_what, isDeleted) => {
    const now = await processAt(0);
    await now.userWithCode('anns', 'ann', 'ANN');
    const { handle } = now.streams.tankCodes;
    const stream = now.names.tankCodesStream(aRequest().scope);
    // From the reservation on, nothing is written to the codes any more.
    let isReserved = false;
    const spy = jest.spyOn(now.streams.tankCodes, 'handle').mockImplementation(async (...call) => {
      if (isReserved) throw new Error('crashed');
      isReserved = true;
      return handle.apply(now.streams.tankCodes, call);
    });
    expect(await refer(now, 'first')).toBe('TANK-1');
    spy.mockRestore();
    if (isDeleted) accepted(await now.send('first', { type: 'ForgetAccount', doNotTrack: false }));
    const later = await processAt(3);
    expect([
      await refer(later, 'second'),
      await refer(later, 'third'),
      await refer(later, 'fourth'),
    ]).toEqual(['TANK-2', 'TANK-3', 'POOL_EMPTY']);
    const { state } = await later.streams.tankCodes.load(stream);
    expect([state.taken.size, state.reserved.size]).toEqual([3, 0]);
  },
);

const tank = { type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 5, unit: null } as const;

it('a code that lapses while its command is suspended goes to one reward: the command is decided again and takes another code', async () => {
  let whileItStandsStill: (() => Promise<unknown>) | undefined;
  const pausing = (log: EventLog): EventLog => {
    const append: EventLog['append'] = async (stream, expected, events) => {
      const pause = events.some(({ type }) => type === 'RewardGranted')
        ? whileItStandsStill
        : undefined;
      if (pause) whileItStandsStill = undefined;
      await pause?.();
      return log.append(stream, expected, events);
    };
    return Object.assign(Object.create(log) as EventLog, { append });
  };
  const slow = await ledger.process({ clock: () => START, around: pausing });
  const later = await processAt(3);
  await later.userWithCode('anns', 'ann', 'ANN');
  let ofOther: string | undefined;
  whileItStandsStill = async () => {
    for (const code of ['TANK-2', 'TANK-3']) await reservedByACrash(later, code);
    for (const code of ['TANK-2', 'TANK-3'])
      await later.streams.tankCodes.handle(
        later.names.tankCodesStream(aRequest().scope),
        aRequest(),
        (state) =>
          decide(state, {
            type: 'HandOutTankCode',
            code,
            holder: { account: refOf('crashed'), rewardId: `reward of ${code}` },
            now: START,
          }),
      );
    ofOther = await refer(later, 'quick');
  };
  const ofSlow = await refer(slow, 'slow');
  expect([ofOther, ofSlow]).toEqual(['TANK-1', 'POOL_EMPTY']);
});

it('a reward earned under an earlier version has a code of its pool, read from the log when it is needed', async () => {
  const process = await processAt(0);
  await process.userWithCode('anns', 'ann', 'ANN');
  const [person] = (await process.account('anns')).users.keys();
  if (person === undefined) throw new Error('there is no user');
  const pool = (fuelTankCodes: readonly string[], amount: number): ProgramDocument => ({
    id: 'default',
    referredReward: null,
    referrerReward: { type: 'FUELTANK', fuelTankCodes, fuelTankType: 'CREDIT', amount },
  });
  for (const document of [pool(['OLD-1', 'OLD-2'], 5), pool(['NEW-1'], 9)])
    await process.tenantCommands.execute('demo', {
      type: 'ApplyProgram',
      program: document,
      now: START,
    });
  const grant = (referralId: string, programVersion: number, amount: number) =>
    process.send('anns', {
      type: 'GrantReferrerReward',
      referralId,
      person,
      programId: 'default',
      programVersion,
      earnedAt: START,
      terms: terms({ ...tank, amount }, { when: 'CONVERTED' }),
    });
  const codeOf = (outcome: Awaited<ReturnType<typeof grant>>): string | undefined =>
    accepted(outcome).events.flatMap((event) =>
      event.type === 'RewardGranted' && event.value.type === 'FUELTANK'
        ? [event.value.fuelTankCode]
        : [],
    )[0];
  expect(codeOf(await grant('one', 2, 5))).toBe('OLD-1');
  expect(codeOf(await grant('two', 3, 9))).toBe('NEW-1');
  expect(codeOf(await grant('three', 2, 5))).toBe('OLD-2');
});

const needOf = (rewardId: string): NeededTankCode => ({
  kind: 'tank-code',
  rewardId,
  programId: 'default',
  programVersion: 1,
  rule: 'referredReward',
  value: tank,
  lapses: 0,
});
const poolsOf = (
  { streams, names, log, codec }: TestProcess,
  clock: () => number = Date.now,
): TankCodes =>
  new TankCodes(
    streams,
    names,
    new TenantDirectory(streams.tenants, names),
    new ProgramVersions(log, codec, names),
    clock,
  );
const takeAllBut = async (process: TestProcess, ...free: readonly string[]): Promise<void> => {
  for (const code of CODES) if (!free.includes(code)) await reservedByACrash(process, code);
};

it('a refused command does not release the code that another command for the same reward is about to record', async () => {
  const [one, two] = [await processAt(0), await processAt(0)];
  await takeAllBut(one, 'TANK-1');
  const [here, there] = [poolsOf(one), poolsOf(two)];
  const claims = [
    await here.reserve(aRequest(), refOf('a'), needOf('r')),
    await there.reserve(aRequest(), refOf('a'), needOf('r')),
  ] as const;
  expect(claims.map((claim) => claim?.code)).toEqual(['TANK-1', 'TANK-1']);
  const [first, second] = claims;
  if (!first || !second) throw new Error('no code was reserved');
  await here.settle(aRequest(), [first], []);
  expect(await here.reserve(aRequest(), refOf('b'), needOf('other'))).toBeUndefined();
  await there.settle(aRequest(), [second], []);
  expect(await here.reserve(aRequest(), refOf('b'), needOf('other'))).toMatchObject({
    code: 'TANK-1',
  });
});

it('the code of a corrected row takes the place of one that a killed import left reserved', async () => {
  const process = await processAt(0);
  const reserve = async (minutes: number, reward: string, code: string) => {
    const pools = poolsOf(process, () => START + minutes * 60_000);
    const need = { ...needOf(reward), given: code };
    return (await pools.reserve(aRequest(), refOf('a'), need))?.code;
  };
  expect(await reserve(0, 'r', 'WRONG')).toBe('WRONG');
  // The other import may be about to record it: the row is rejected until then.
  expect(await reserve(1, 'r', 'RIGHT')).toBe('WRONG');
  expect(await reserve(4, 'r', 'RIGHT')).toBe('RIGHT');
  expect(await reserve(4, 'other', 'WRONG')).toBe('WRONG');
});
