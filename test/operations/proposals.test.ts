// Over 5 s: a service with operators of its own.
import { ProposalCommandEnvelope } from '../../src/command-handling/commands.js';
import { PROPOSAL_LIFE_MS } from '../../src/domain/proposal/proposal.decider.js';
import type { Scope } from '../../src/domain/scope.js';
import { listProposals, proposalNameOf } from '../../src/operations/ledger/ledger-proposals.js';
import { approveWithAudit } from '../../src/operations/ledger/proposal-steps.js';
import { NotDone, outcomeOf } from '../../src/operations/outcome.js';
import { clockMovedBy, DAY_MS } from '../support/clock-of-process.js';
import { type Answer } from '../support/api-client.js';
import { aPerson, give } from '../support/people.js';
import { metaBy } from '../support/operations.js';
import { runHere, type Ran } from '../support/command-line.js';
import { makeOperators, useService, type TestTenant } from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

const running = useService();
const keys = openOnce(() =>
  makeOperators(running.stores, { fay: ['finance'], gil: ['finance'], hal: ['finance'] }),
);

type Operator = 'fay' | 'gil' | 'hal';

const ask = (as: Operator, route: string, body?: object, key?: string): Promise<Answer<unknown>> =>
  running.service
    .operator(keys[as])
    .call(body ? 'POST' : 'GET', `/ledger/${route}`, body, key === undefined ? {} : { key });

interface Ledger {
  readonly tenant: TestTenant;
  readonly scope: Scope;
  readonly account: string;
  readonly user: string;
  readonly at: string;
}

async function ledgerWithCredit(mode: 'live' | 'test' = 'live'): Promise<Ledger> {
  const tenant = await running.service.createTenant();
  const { accountId: account, id: user, at } = await aPerson(tenant[mode]);
  await give(tenant[mode], { at }, { assignedCredit: 700 });
  return { tenant, scope: { tenant: tenant.alias, mode }, account, user, at };
}

async function propose(
  { scope, account, user }: Ledger,
  amount: number,
  { as = 'fay', over = {}, key }: ProposeOptions = {},
): Promise<Answer<unknown>> {
  const correction = { account, user, unit: 'CENTS', amount, reason: 'charged twice' };
  const body = { mode: scope.mode, ...correction, ...over };
  return ask(as, `${scope.tenant}/proposals`, body, key);
}

interface ProposeOptions {
  readonly as?: Operator;
  readonly over?: object;
  readonly key?: string;
}

async function proposedId(ledger: Ledger, amount: number): Promise<string> {
  const { status, body } = await propose(ledger, amount);
  expect([status, body]).toEqual([200, { id: expect.any(String), expiresAt: expect.any(String) }]);
  return (body as { readonly id: string }).id;
}

const approve = ({ scope }: Ledger, id: string, as: Operator = 'gil'): Promise<Answer<unknown>> =>
  ask(as, `${scope.tenant}/proposals/${id}/approval`, {});

const waiting = async ({ scope }: Ledger): Promise<unknown> =>
  (await ask('gil', `${scope.tenant}/proposals?mode=${scope.mode}&state=waiting`)).body;

async function closingOf({ scope, account }: Ledger): Promise<number | undefined> {
  const route = `${scope.tenant}/statement?account=${account}&mode=${scope.mode}`;
  const { body } = await ask('gil', route);
  return (body as { readonly units: readonly { readonly closing: number }[] }).units[0]?.closing;
}

const refusedWith = (status: number, ...reasons: readonly string[]) =>
  expect.objectContaining({
    status,
    body: expect.objectContaining(
      status === 400 ? { validationErrors: reasons } : { message: reasons[0] },
    ) as unknown,
  }) as unknown;

const typed = (...words: readonly string[]): Promise<Ran> => runHere(running.stores, words);

test('an operator does not approve the own proposal, in whatever spelling of the name', async () => {
  const ledger = await ledgerWithCredit();
  const id = await proposedId(ledger, 5);
  const line = 'a proposal is approved or rejected by another operator than the one who made it';
  const head = await running.service.head();
  expect(await approve(ledger, id, 'fay')).toEqual(refusedWith(403, line));
  for (const name of ['fay', 'Fay', ' fay '])
    expect(await typed('ledger', 'approve', id, '--by', name)).toMatchObject({
      code: 1,
      err: `${line}\n`,
    });
  expect(await running.service.head()).toBe(head);
  expect(await approve(ledger, id, 'gil')).toMatchObject({ status: 200 });
});

test('many concurrent approvals make one correction, answered to its approver alone', async () => {
  const ledger = await ledgerWithCredit();
  const id = await proposedId(ledger, -100);
  const approvers: readonly Operator[] = ['gil', 'hal', 'gil', 'hal', 'gil', 'hal'];
  const answers = await Promise.all(approvers.map((as) => approve(ledger, id, as)));
  const done = answers.filter(({ status }) => status === 200);
  const winners = new Set(approvers.filter((_, place) => answers[place]?.status === 200));
  expect([winners.size, done.length]).toEqual([1, 3]);
  expect(new Set(done.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  expect(done.filter(({ headers }) => headers.get('idempotency-replayed') === 'true').length).toBe(
    2,
  );
  for (const answer of answers)
    if (answer.status !== 200)
      expect(answer).toEqual(
        refusedWith(400, 'another operator has approved the proposal already'),
      );
  expect(await closingOf(ledger)).toBe(600);
});

test('an approval is decided on the balance of its moment, and a refused one leaves the proposal', async () => {
  const ledger = await ledgerWithCredit();
  const id = await proposedId(ledger, -700);
  const { account, tenant } = ledger;
  const redeemed = await tenant.live.post('/credit/bulkredeem', {
    accountId: account,
    unit: 'CENTS',
    amount: 1,
  });
  expect(redeemed.status).toBe(200);
  const head = await running.service.head();
  expect(await approve(ledger, id)).toEqual(
    refusedWith(400, 'The amount 700 exceeds the available credit 699 CENTS'),
  );
  expect(await running.service.head()).toBe(head);
  expect(await waiting(ledger)).toMatchObject([{ id }]);
  await give(tenant.live, ledger, { assignedCredit: 1 });
  expect(await approve(ledger, id, 'hal')).toMatchObject({ status: 200 });
  expect(await closingOf(ledger)).toBe(0);
});

const end = (
  { scope }: Ledger,
  id: string,
  how: 'rejection' | 'withdrawal',
  as: Operator = 'gil',
): Promise<Answer<unknown>> =>
  ask(
    as,
    `${scope.tenant}/proposals/${id}/${how}`,
    how === 'rejection' ? { reason: 'charged once' } : {},
  );

const proposalsOf = async ({ scope }: Ledger, state = ''): Promise<unknown> =>
  (await ask('gil', `${scope.tenant}/proposals?state=${state}`)).body;

test('a proposal that another operator rejects, or its proposer withdraws, has ended', async () => {
  const ledger = await ledgerWithCredit();
  const [rejected, withdrawn, approved] = [
    await proposedId(ledger, 5),
    await proposedId(ledger, 6),
    await proposedId(ledger, 7),
  ];
  const head = await running.service.head();
  expect(await end(ledger, rejected, 'rejection', 'fay')).toMatchObject({ status: 403 });
  expect(await end(ledger, withdrawn, 'withdrawal', 'gil')).toMatchObject({ status: 403 });
  expect(await running.service.head()).toBe(head);
  const reject = { state: 'rejected', endedBy: 'gil', endReason: 'charged once' };
  const withdraw = { state: 'withdrawn', endedBy: 'fay', endReason: null };
  expect(await end(ledger, rejected, 'rejection')).toMatchObject({ status: 200, body: reject });
  expect(await end(ledger, withdrawn, 'withdrawal', 'fay')).toMatchObject({ body: withdraw });
  expect(await approve(ledger, approved)).toMatchObject({ status: 200 });
  const line = 'the proposal has ended: it is rejected';
  expect(await end(ledger, rejected, 'withdrawal', 'fay')).toEqual(refusedWith(400, line));
  expect(await approve(ledger, rejected, 'hal')).toEqual(refusedWith(400, line));
  const approval = { state: 'approved', endedBy: 'gil', endReason: null };
  expect(await proposalsOf(ledger)).toMatchObject([
    { id: approved, ...approval, endedAt: expect.any(String) as unknown },
    { id: withdrawn, ...withdraw },
    { id: rejected, ...reject },
  ]);
  expect(await proposalsOf(ledger, 'rejected')).toMatchObject([{ id: rejected }]);
  expect(await closingOf(ledger)).toBe(707);
});

test('the command line takes the beginning of an id, from 8 characters on', async () => {
  const ledger = await ledgerWithCredit();
  const [id] = [await proposedId(ledger, 5), await proposedId(ledger, 6)];
  const day = id.slice(0, -32);
  expect(await typed('ledger', 'reject', day, '--reason', 'r', '--by', 'gil')).toMatchObject({
    code: 1,
    err: `"${day}" begins 2 ids: write more of it\n`,
  });
  const short = id.slice(0, -24);
  expect(await typed('ledger', 'reject', short, '--reason', 'r', '--by', 'gil')).toMatchObject({
    code: 0,
    out: `rejected ${id}\n`,
  });
  expect(await end(ledger, short, 'rejection')).toMatchObject({ status: 404 });
  expect(await typed('ledger', 'withdraw', id.slice(0, 7))).toMatchObject({
    code: 1,
    err: 'there is no such proposal\n',
  });
});

test('a proposal whose answer was lost before midnight is found after it', async () => {
  const ledger = await ledgerWithCredit();
  const { core } = running.service.service;
  const { scope, account: accountId, user: userId } = ledger;
  const digest = core.names.digest('a test', accountId);
  const meta = {
    ...metaBy('fay', core, scope),
    idempotency: { key: digest, fingerprint: digest },
  };
  const correction = { accountId, userId, unit: 'CENTS', amount: 5, reason: 'r' };
  const command = new ProposalCommandEnvelope(meta, { ...correction, by: meta.actor.name });
  const first = await core.commands.execute(command);
  const back = clockMovedBy(DAY_MS);
  const again = await core.commands.execute(command).finally(back);
  expect([first, again]).toMatchObject([{ replayed: false }, { ...first, replayed: true }]);
});

test('a proposal lapses after seven days', async () => {
  const ledger = await ledgerWithCredit();
  const { core } = running.service.service;
  const id = await proposedId(ledger, 5);
  const name = proposalNameOf(id);
  if (!name) throw new Error('the id is malformed');
  const limit = 10;
  const head = await running.service.head();
  const late = Date.now() + PROPOSAL_LIFE_MS + 1;
  const meta = metaBy('gil', core, ledger.scope);
  const approved = await outcomeOf(() => approveWithAudit(core, { name, meta, now: late }));
  expect(approved instanceof NotDone && approved.text()).toMatch(/not approved within seven days/);
  expect(await running.service.head()).toBe(head);
  expect(await listProposals(core, ledger.scope, { limit, now: late })).toMatchObject([
    { id, state: 'lapsed', endedBy: null },
  ]);
  const inTime = Date.now() + PROPOSAL_LIFE_MS - 60 * 60 * 1_000;
  expect(
    await listProposals(core, ledger.scope, { state: 'waiting', limit, now: inTime }),
  ).toMatchObject([{ id }]);
  expect(await approveWithAudit(core, { name, meta, now: inTime })).toMatchObject({
    parameters: { proposal: id },
  });
});

test('nothing is corrected for a user who was forgotten, nor for one who took the id since', async () => {
  const ledger = await ledgerWithCredit();
  const { account, user, tenant } = ledger;
  const id = await proposedId(ledger, 5);
  const route = `/open${ledger.at}?preserveEmptyAccount=true`;
  expect((await tenant.live.call('DELETE', route, undefined)).status).toBeLessThan(300);
  expect(await waiting(ledger)).toEqual([]);
  await tenant.live.post('/user', { id: user, accountId: account });
  const head = await running.service.head();
  expect(await approve(ledger, id)).toEqual(
    refusedWith(400, 'the user of the proposal is forgotten'),
  );
  expect(await running.service.head()).toBe(head);
});

test("an id of another tenant, of nothing, or of no proposal's form is not found", async () => {
  const [ledger, other] = [await ledgerWithCredit(), await ledgerWithCredit()];
  const id = await proposedId(ledger, 5);
  const head = await running.service.head();
  const unknown = id.replace(/[^.]+$/, 'f'.repeat(32));
  for (const asked of [unknown, 'x', id.replace('.live.', '.test.'), `${id}0`])
    expect([asked, await approve(ledger, asked)]).toEqual([
      asked,
      expect.objectContaining({ status: 404 }),
    ]);
  expect(await approve(other, id)).toEqual(expect.objectContaining({ status: 404 }));
  expect(await running.service.head()).toBe(head);
});

test('a proposal in test mode is approved by its id alone', async () => {
  const ledger = await ledgerWithCredit('test');
  const id = await proposedId(ledger, 5);
  expect(await waiting({ ...ledger, scope: { ...ledger.scope, mode: 'live' } })).toEqual([]);
  expect((await approve(ledger, id)).status).toBe(200);
  expect(await closingOf(ledger)).toBe(705);
});

test('on the command line --by names the operator, and both sides see the same proposals', async () => {
  const ledger = await ledgerWithCredit();
  const { scope, account, user } = ledger;
  const words = `--user ${user} --unit CENTS --amount +5 --reason r`.split(' ');
  const proposed = await typed('ledger', 'propose', scope.tenant, account, ...words, '--json');
  expect(proposed.code).toBe(0);
  const { id } = JSON.parse(proposed.out) as { readonly id: string };
  expect(await waiting(ledger)).toMatchObject([{ id, amount: 5 }]);
  const shown = await typed('ledger', 'proposals', scope.tenant, '--json');
  expect(JSON.parse(shown.out)).toMatchObject([{ id, user }]);
  // The same user of the operating system.
  expect(await typed('ledger', 'approve', id)).toMatchObject({ code: 1, out: '' });
  const approved = await typed('ledger', 'approve', id, '--by', 'gil', '--json');
  expect([approved.code, approved.err]).toEqual([0, '']);
  const again = await typed('ledger', 'approve', id, '--by', 'gil', '--json');
  expect([again.code, JSON.parse(again.out)]).toEqual([0, JSON.parse(approved.out)]);
  expect(again.err).toContain('a repetition: nothing changed a second time');
  expect(await approve(ledger, id, 'hal')).toMatchObject({ status: 400 });
  expect((await approve(ledger, id, 'gil')).body).toEqual(JSON.parse(approved.out));
  expect(await closingOf(ledger)).toBe(705);
  expect(await typed('ledger', 'approve', 'nothing')).toMatchObject({
    code: 1,
    err: 'there is no such proposal\n',
  });
});
