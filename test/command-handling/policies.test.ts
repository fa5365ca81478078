import { deterministicId } from '../../src/command-handling/deterministic-id.js';
import { POLICIES } from '../../src/policies/policies.js';
import { PolicyRunner } from '../../src/reacting/policy-runner.js';
import type { PolicyStores } from '../../src/reacting/policy-stores.js';
import { carryOutReactions } from '../../src/reacting/reactions.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import { ErrorLines } from '../support/error-lines.js';
import { aRequest, refOf, SharedLedger, type TestProcess } from './support/processes.js';
import { openOnce } from '../support/opened.js';

const ledger = openOnce(() => SharedLedger.open());
const one = openOnce(() => ledger.process());

const { scope } = aRequest();
const GRANT = 'grant-referrer-reward-when-earned';

/** The process carries out what the policies want done about every event of the log. */
async function react({ commands, streams, log, codec }: TestProcess): Promise<void> {
  const carryOut = carryOutReactions(commands, { add: () => Promise.resolve() }, streams);
  for (const event of await decodeAny(codec)(await log.readAll(undefined, 1_000))) {
    if ('undecodable' in event) throw new Error(event.undecodable);
    for (const policy of POLICIES.filter(({ handles }) => handles.has(event.event.type)))
      for (const reaction of policy.react(event)) await carryOut(event, policy.name, reaction);
  }
}

const recordedIn = (accountId: string) =>
  one.recordedOf(one.names.accountStream(scope, refOf(accountId)));

it('the referrer’s reward is granted once, however often and wherever its reaction is carried out', async () => {
  await one.userWithCode('referrer', 'ann', 'ANN');
  const referralId = await one.convertedReferral('referred', 'ANN');
  await Promise.all([one, await ledger.process(), await ledger.process()].map(react));
  await react(await ledger.process());
  const earning = (await recordedIn('referred')).find(
    ({ event }) => event.type === 'ReferralConverted',
  );
  const eventId = earning?.recorded.id ?? '';
  const granted = (await recordedIn('referrer')).filter(
    ({ event }) => event.type === 'RewardGranted',
  );
  expect(granted).toMatchObject([
    {
      event: { referralId, source: 'FRIEND_SIGNUP' },
      envelope: {
        commandId: deterministicId(eventId, GRANT),
        causationId: eventId,
        correlationId: earning?.envelope.correlationId,
        actor: { kind: 'policy', id: GRANT },
      },
    },
  ]);
});

it('a standby reads the checkpoint only while a caller waits for it', async () => {
  let reads = 0;
  const load = () => {
    reads += 1;
    return Promise.resolve({ position: null, witness: undefined, trail: [], losses: 0 });
  };
  const standby = new PolicyRunner({
    stores: {
      checkpoints: { load },
    } as unknown as PolicyStores,
    log: one.log,
    decode: decodeAny(one.codec),
    policies: POLICIES,
    isUnavailable: () => false,
    logger: new ErrorLines(),
    carryOut: () => Promise.resolve(),
  });
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  try {
    const waiting = standby.waitFor('1', 100);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(await waiting).toBe(false);
    expect(reads).toBeLessThan(10);
  } finally {
    await standby.stop();
    jest.useRealTimers();
  }
});
