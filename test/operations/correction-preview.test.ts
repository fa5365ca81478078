import { approve, propose } from '../../src/operations/ledger/correction.operations.js';
import { correctionPreview, previewOf } from '../../src/operations/ledger/correction-preview.js';
import { unitsOfAccount } from '../../src/operations/ledger/known-unit.js';
import { listProposals } from '../../src/operations/ledger/ledger-proposals.js';
import { calledBy } from '../support/called-operations.js';
import { aPerson, give, type Person } from '../support/people.js';
import { useSharedService, useTenant } from '../support/running-service.js';

const running = useSharedService();
const tenant = useTenant(running);

const scope = () => ({ tenant: tenant.alias, mode: 'live' as const });
const core = () => running.service.service.core;

const correctionOf = ({ accountId, id }: Person, amount: number) => ({
  account: accountId,
  user: id,
  unit: 'CENTS',
  amount,
});

const proposed = async (person: Person, amount: number, form: object = {}, key?: string) => {
  const request = { ...scope(), ...correctionOf(person, amount), reason: 'r', newUnit: false };
  const { service } = running;
  return calledBy<{ id: string }>(service, 'fay', propose, { ...request, ...form }, key);
};

const approved = (proposal: string, balance?: number) =>
  calledBy(running.service, 'gil', approve, { proposal, balance });

test('a preview has the balance now and after, of the account and whatever spelling of the unit', async () => {
  const ann = await aPerson(tenant.live);
  await give(tenant.live, ann, { assignedCredit: 700 });
  const preview = (amount: number, unit = 'CENTS') =>
    correctionPreview(core(), scope(), { ...correctionOf(ann, amount), unit });
  expect(await preview(-200)).toEqual({ balance: 700, after: 500 });
  expect(await preview(50, 'cents')).toEqual({ balance: 700, after: 750 });
  expect(await preview(50, 'POINTS')).toEqual({ balance: 0, after: 50 });
  await expect(preview(-701)).rejects.toMatchObject({ code: 'REDEMPTION_NOT_POSSIBLE' });
});

test('the units of an account are those of its credit and of the programs', async () => {
  const ann = await aPerson(tenant.live);
  const units = () => unitsOfAccount(core(), scope(), ann.accountId);
  expect(await units()).toEqual(['CENTS']);
  await give(tenant.live, ann, { unit: 'cents' });
  await give(tenant.live, ann, { unit: 'POINTS' });
  await give(tenant.live, ann, {
    type: 'PCT_DISCOUNT',
    unit: '%',
    assignedCredit: null,
    discountPercent: 5,
  });
  expect(await units()).toEqual(['POINTS', 'cents']);
});

test('an approval is refused when its form shows another balance, and names the change', async () => {
  const ann = await aPerson(tenant.live);
  await give(tenant.live, ann, { assignedCredit: 700 });
  const { id } = await proposed(ann, -200);
  const [waiting] = await listProposals(core(), scope(), {
    account: core().names.accountRef(scope(), ann.accountId),
    limit: 10,
    now: Date.now(),
  });
  if (waiting === undefined) throw new Error('the proposal is not listed');
  expect(await previewOf(core(), scope(), waiting)).toEqual({ balance: 700, after: 500 });

  const { id: other } = await proposed(ann, 40);
  await approved(other, 700);
  await expect(approved(id, 700)).rejects.toMatchObject({
    code: 'CHANGED_MEANWHILE',
    message: expect.stringMatching(/^operator:fay changed this balance at \d{4}/) as string,
  });
  await approved(id, 740);
  // Sent twice: the balance is that after the correction by now.
  await approved(id, 740);
  expect(await correctionPreview(core(), scope(), correctionOf(ann, 1))).toMatchObject({
    balance: 540,
  });
});

test('a proposal is refused when its form shows another balance, unless it was made before', async () => {
  const ann = await aPerson(tenant.live);
  await give(tenant.live, ann, { assignedCredit: 700 });
  await expect(proposed(ann, 5, { balance: 600 })).rejects.toMatchObject({
    code: 'CHANGED_MEANWHILE',
  });
  const first = await proposed(ann, 5, { balance: 700 }, 'form');
  await give(tenant.live, ann, { assignedCredit: 1 });
  expect(await proposed(ann, 5, { balance: 700 }, 'form')).toEqual(first);
});
