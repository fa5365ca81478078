import { AccountCommandEnvelope } from '../../src/command-handling/commands.js';
import { deterministicId } from '../../src/command-handling/deterministic-id.js';
import type { CommandMeta } from '../../src/event-log/envelope.js';
import { POLICIES } from '../../src/policies/policies.js';
import type { Policy, Reaction } from '../../src/policies/policy.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import type { LedgerEvent } from '../../src/projecting/projector.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { accepted, aRequest, refOf, SharedLedger, type TestProcess } from './support/processes.js';

let ledger: SharedLedger;
let one: TestProcess;
let other: TestProcess;

beforeAll(async () => {
  ledger = await SharedLedger.open();
  one = await ledger.process();
  other = await ledger.process();
});
afterAll(() => ledger.close());

const { scope } = aRequest();

interface Asked {
  readonly event: LedgerEvent<DomainEvent>;
  readonly policy: Policy;
  readonly reaction: Reaction;
}

/** What the policies want done about the facts of some accounts, in the order of the log. */
async function asked(...accountIds: readonly string[]): Promise<readonly Asked[]> {
  const streams = new Set(
    accountIds.map((accountId) => one.names.accountStream(scope, refOf(accountId))),
  );
  const page = (await one.log.readAll(undefined, 10_000)).filter(({ stream }) =>
    streams.has(stream),
  );
  const events = await decodeAny(one.codec)(page);
  return events.flatMap((event) => {
    if ('undecodable' in event) throw new Error(event.undecodable);
    return POLICIES.filter(({ handles }) => handles.has(event.event.type)).flatMap((policy) =>
      policy.react(event).map((reaction) => ({ event, policy, reaction })),
    );
  });
}

/** As the policy runner carries it out: with ids made of the event and the rule. */
function carryOut(process: TestProcess, { event, policy, reaction }: Asked) {
  if (reaction.kind !== 'command') throw new Error('this reaction is a job');
  const meta: CommandMeta = {
    scope,
    commandId: deterministicId(event.eventId, policy.name),
    correlationId: event.correlationId,
    causationId: event.eventId,
    actor: { kind: 'policy', id: policy.name },
    idempotency: null,
  };
  return process.commands.execute(
    new AccountCommandEnvelope(meta, reaction.account, reaction.request),
  );
}

const commands = (all: readonly Asked[]): readonly Asked[] =>
  all.filter(({ reaction }) => reaction.kind === 'command');
const granted = async (accountId: string) =>
  (await one.factsOf(accountId)).filter(({ type }) => type === 'RewardGranted');

describe('the referrer’s reward', () => {
  it('is granted once, however often and wherever its reaction is carried out', async () => {
    await one.userWithCode('referrer', 'ann', 'ANN');
    const referralId = await one.convertedReferral('referred', 'ANN');
    const reactions = commands(await asked('referred'));
    expect(reactions.map(({ event }) => event.event.type)).toEqual(['ReferralConverted']);
    const [reaction] = reactions;
    if (!reaction) throw new Error('a reaction is needed');
    const outcomes = await Promise.all(
      [one, other, one, other].map((process) => carryOut(process, reaction)),
    );
    for (const outcome of outcomes)
      expect(accepted(outcome).events).toMatchObject([
        { type: 'RewardGranted', referralId, source: 'FRIEND_SIGNUP' },
      ]);
    expect(outcomes.filter((outcome) => !accepted(outcome).replayed)).toHaveLength(1);
    expect(accepted(await carryOut(await ledger.process(), reaction)).replayed).toBe(true);
    expect(await granted('referrer')).toHaveLength(1);
  });

  it('is granted once when several events earn it', async () => {
    await one.userWithCode('referrer-2', 'ann', 'ANNTWO');
    const referralId = await one.convertedReferral('referred-2', 'ANNTWO');
    for (const action of ['REFERRER_APPROVED', 'APPROVED'] as const)
      await one.moderate({ [referralId]: action });
    const reactions = commands(await asked('referred-2'));
    expect(reactions.map(({ event }) => event.event.type)).toEqual([
      'ReferralConverted',
      'ReferralModerated',
      'ReferralModerated',
    ]);
    await Promise.all(
      reactions.flatMap((reaction) => [carryOut(one, reaction), carryOut(other, reaction)]),
    );
    expect(await granted('referrer-2')).toHaveLength(1);
  });

  it('denied before it was granted is granted by the approval', async () => {
    await one.userWithCode('referrer-3', 'ann', 'ANNTHREE');
    const referralId = await one.convertedReferral('referred-3', 'ANNTHREE');
    await other.moderate({ [referralId]: 'REFERRER_DENIED' });
    for (const reaction of commands(await asked('referred-3')))
      accepted(await carryOut(one, reaction));
    expect(await granted('referrer-3')).toEqual([]);
    await other.moderate({ [referralId]: 'REFERRER_APPROVED' });
    const [, ofApproval, ...more] = commands(await asked('referred-3'));
    if (!ofApproval) throw new Error('a reaction is needed');
    expect(more).toEqual([]);
    for (const reaction of [ofApproval, ofApproval]) accepted(await carryOut(one, reaction));
    expect(await granted('referrer-3')).toHaveLength(1);
    // The approval is what gave it: its delay and its validity count from then.
    const { dateModerated } = await one.referralOf('referred-3');
    expect(await one.rewardsOf('referrer-3')).toMatchObject([
      { dateGiven: dateModerated, dateCancelled: null },
    ]);
  });

  it('is not granted to a side that was denied because of a block, until it is approved', async () => {
    await one.userWithCode('referrer-4', 'ann', 'ANNFOUR');
    accepted(await one.sync('referred-4', 'TRIAL', ['ANNFOUR']));
    accepted(await one.upsert('referred-4', 'user'));
    accepted(await other.send('referrer-4', { type: 'BlockUser', userId: 'ann' }));
    accepted(await one.sync('referred-4', 'PAID'));
    expect(await one.referralOf('referred-4')).toMatchObject({
      referredStatus: 'APPROVED',
      referrerStatus: 'DENIED',
    });
    expect(commands(await asked('referred-4'))).toEqual([]);
    expect(await one.rewardsOf('referred-4')).toMatchObject([
      { source: 'REFERRED', dateCancelled: null },
    ]);
    const { referralId } = await one.referralOf('referred-4');
    await one.moderate({ [referralId]: 'APPROVED' });
    for (const reaction of commands(await asked('referred-4')))
      accepted(await carryOut(one, reaction));
    expect(await granted('referrer-4')).toHaveLength(1);
  });
});

it('rewards with dates get a job for each date, each with one key', async () => {
  await one.userWithCode('dated', 'ann', 'DATED');
  const [at, until] = [Date.now() + 60_000, Date.now() + 120_000];
  const value = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5, currency: null } as const;
  const dates = { dateScheduledFor: at, dateExpires: until };
  accepted(
    await one.send('dated', {
      type: 'CreateReward',
      userId: 'ann',
      value,
      name: null,
      description: null,
      cancellable: true,
      ...dates,
    }),
  );
  const [reward] = await one.rewardsOf('dated');
  const payload = {
    tenant: scope.tenant,
    mode: scope.mode,
    account: refOf('dated'),
    rewardId: reward?.rewardId,
  };
  expect((await asked('dated')).map(({ reaction }) => reaction)).toEqual([
    {
      kind: 'job',
      task: 'settle-reward',
      payload,
      runAt: at,
      key: `settle-reward/${reward?.rewardId}/available`,
    },
    {
      kind: 'job',
      task: 'settle-reward',
      payload,
      runAt: until,
      key: `settle-reward/${reward?.rewardId}/expired`,
    },
  ]);
});

it('an unfinished moderation is finished by a job', async () => {
  const moderationId = deterministicId('a moderation', 'of a test');
  const event = { type: 'ModerationRequested', at: 5, moderationId, items: [] } as const;
  const place = {
    eventId: 'e',
    stream: 's',
    revision: 0n,
    position: 'p',
    recordedAt: 1_000,
    correlationId: 'c',
    commandId: 'c',
  };
  const [reaction, ...more] = POLICIES.flatMap((policy) =>
    policy.handles.has(event.type)
      ? policy.react({ event, ...place, tenant: 'demo', mode: 'test', accountRef: '' })
      : [],
  );
  expect(more).toEqual([]);
  expect(reaction).toMatchObject({
    kind: 'job',
    task: 'finish-moderation',
    payload: { tenant: 'demo', mode: 'test', moderationId },
  });
  expect(reaction?.kind === 'job' && reaction.runAt).toBeGreaterThan(1_000);
});
