import type { StoredAnswer, KeyedRequest } from '../../src/idempotency/idempotency-key.js';
import {
  adjustWithAudit,
  type AdjustmentRequest,
} from '../../src/operations/ledger/ledger-adjustment.js';
import { proposeWithAudit } from '../../src/operations/ledger/proposal-steps.js';
import { onceIfKeyed, type KeyedBy } from '../../src/operations/operator-keys.js';
import { NotDone, outcomeOf } from '../../src/operations/outcome.js';
import { metaBy } from '../support/operations.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';

const scope = { tenant: 'acme', mode: 'live' } as const;
const CORRECTION: AdjustmentRequest = {
  accountId: 'a',
  userId: 'u',
  unit: 'CENTS',
  amount: 5,
  reason: 'charged twice',
  approvedBy: 'Ada',
};
const core = {
  names: new KeyedNames(Buffer.alloc(32, 1)),
  commands: { execute: () => Promise.reject(new Error('another request has the key')) },
};

/** The request under which the work claims the key. */
async function claimed(work: (keyed: KeyedBy) => Promise<unknown>): Promise<KeyedRequest> {
  let claim: KeyedRequest | undefined;
  const answers: KeyedBy['answers'] = {
    claim: (request) => {
      claim = request;
      return Promise.resolve({ refused: 'REQUEST_IN_PROGRESS' });
    },
    keep: () => Promise.resolve(),
    drop: () => Promise.resolve(),
    abandon: () => undefined,
  };
  await outcomeOf(() => work({ key: 'ticket', answers }));
  if (claim === undefined) throw new Error('no key was claimed');
  return claim;
}

const meta = (by = 'sam') => metaBy(by, core, scope);
const adjusting = (over: Partial<AdjustmentRequest> = {}, by?: string) =>
  claimed((keyed) => adjustWithAudit(core, meta(by), { ...CORRECTION, ...over }, keyed));
const proposing = (over: Partial<AdjustmentRequest> = {}, by?: string) => {
  const { approvedBy: _, ...correction } = { ...CORRECTION, ...over };
  return claimed((keyed) => proposeWithAudit(core as never, meta(by), correction, keyed));
};

describe.each([
  ['an adjustment', adjusting],
  ['a proposal', proposing],
])("the key of %s is in its operator's set", (_what, asking) => {
  it('is the same request in every spelling of the name', async () => {
    for (const by of ['Sam', 'SAM']) expect(await asking({}, by)).toEqual(await asking());
  });

  it("does not meet another operator's", async () => {
    const [own, other] = [await asking(), await asking({}, 'sam2')];
    expect(other.key).not.toBe(own.key);
  });

  it('applies to one correction', async () => {
    const [own, other] = [await asking(), await asking({ amount: 6 })];
    expect(other.key).toBe(own.key);
    expect(other.fingerprint).not.toBe(own.fingerprint);
  });
});

test('a request that was refused is refused again with the same code', async () => {
  let kept: StoredAnswer | undefined;
  const answers: KeyedBy['answers'] = {
    claim: () => Promise.resolve(kept ? { answer: kept } : { commandId: 'c', askedAt: 0 }),
    keep: (_, answer) => {
      kept = answer;
      return Promise.resolve();
    },
    drop: () => Promise.resolve(),
    abandon: () => undefined,
  };
  const keyed = { key: 'ticket', answers };
  const refused = new NotDone('ACCOUNT_NOT_FOUND', ['there is no account a']);
  const operation = { meta: meta(), asked: {}, keyed };
  const asked = () => onceIfKeyed(core.names, operation, () => Promise.reject(refused));
  for (const _ of ['the first time', 'again'])
    await expect(asked()).rejects.toMatchObject({ code: 'ACCOUNT_NOT_FOUND' });
});

test('an adjustment is the same in every spelling of its approver', async () => {
  expect(await adjusting({ approvedBy: 'ADA' })).toEqual(await adjusting());
  const { fingerprint } = await adjusting({ approvedBy: 'bea' });
  expect(fingerprint).not.toBe((await adjusting()).fingerprint);
});
