// Over 5 s: mails of a real server, refused and tried again.
import { randomUUID } from 'node:crypto';
import {
  beginSending,
  LEASE_MS,
  MAILS,
  planMail,
  recordOutcome,
} from '../../src/mails/deliveries/mail-rows.js';
import { claimWork, type ClaimedWork } from '../../src/work-queue/work-items.js';
import { retryInMs } from '../../src/mails/deliveries/mail-retries.js';
import { waitingMails, type MailState } from '../../src/mails/deliveries/shown-mails.js';
import type { Mode } from '../../src/domain/scope.js';
import { showMails, type ShownMail } from '../../src/operations/mails/mail.operations.js';
import { runHere } from '../support/command-line.js';
import { eventually } from '../support/embedded.js';
import { done } from '../support/operations.js';
import { parseMetrics } from '../support/metrics-text.js';
import { personal, useService, type TestTenant } from '../support/running-service.js';
import { MailServer } from './support/mail-server.js';
import { openOnce } from '../support/opened.js';

const server = openOnce(() => MailServer.start(), 'stop');
const { service, stores } = useService(() => ({
  SMTP_URL: `smtp://127.0.0.1:${server.port}`,
  MAIL_FROM: 'refer@ledger.example',
}));

async function cli(...words: readonly string[]): Promise<{ code: number; json: never }> {
  const { code, out } = await runHere(stores, [...words, '--json']);
  return { code, json: (out === '' ? null : JSON.parse(out)) as never };
}

const ALL = [
  'REFERRAL_STARTED',
  'REFERRAL_CONVERTED',
  'REFERRER_REWARD_LIMIT_REACHED',
  'REWARD_EARNED',
  'REWARD_EXPIRES_SOON',
  'WELCOME',
];

const mailsAre = ({ alias }: TestTenant, ...types: readonly string[]): Promise<void> =>
  service.change(alias, { type: 'ChangeMailSettings', types });

async function tenantWith(...types: readonly string[]): Promise<TestTenant> {
  const tenant = await service.createTenant();
  await mailsAre(tenant, ...types);
  return tenant;
}

const PLANNED = {
  mode: 'live',
  type: 'WELCOME',
  account: 'a',
  person: '00000000-0000-4000-8000-000000000001',
  event: { stream: 's', revision: 0n, eventId: '00000000-0000-4000-8000-000000000000' },
  created: 0,
} as const;

const reasonsOf = (mails: readonly ShownMail[]) => mails.map(({ reason }) => reason);

const addressOf = (id: string): string => `${id}@mail.example`;

async function user(
  { live }: Pick<TestTenant, 'live'>,
  id: string,
  fields: object = {},
): Promise<Readonly<Record<string, string>>> {
  const answer = await live.put(`/open/account/${id}/user/${id}`, {
    id,
    accountId: id,
    firstName: 'Ann',
    lastName: 'Lee',
    email: addressOf(id),
    ...fields,
  });
  expect(answer.status).toBe(200);
  return answer.body as Readonly<Record<string, string>>;
}

const mailsOf = async (
  { alias }: TestTenant,
  { mode = 'live', ...filter }: { readonly state?: MailState; readonly mode?: Mode } = {},
): Promise<readonly ShownMail[]> => {
  const scope = { tenant: alias, mode };
  return done(await showMails(service.service.core, scope, { limit: 100, ...filter }));
};

const ended = (tenant: TestTenant, count: number): Promise<void> =>
  eventually(async () => {
    const all = await mailsOf(tenant);
    return all.length === count && all.every(({ state }) => state !== 'PENDING');
  });

const reach = (
  tenant: TestTenant,
  state: MailState,
  count: number,
  meanwhile: (of: TestTenant) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> =>
  eventually(async () => {
    await meanwhile(tenant);
    return (await mailsOf(tenant, { state })).length === count;
  });

/** Waits until the server has answered the first attempts of so many mails with 451. */
const failedOnce = (tenant: TestTenant, count: number): Promise<void> =>
  eventually(async () => {
    const pending = await mailsOf(tenant, { state: 'PENDING' });
    const answered = pending.filter(({ reason }) => reason === 'the server answered 451');
    return answered.length === count && answered.every(({ attempts }) => attempts === 1);
  });

/** A user with a reward; with a code, the server answers it to mails. */
async function rewarded(tenant: TestTenant, id: string, code?: number): Promise<void> {
  if (code !== undefined) server.manners.set(addressOf(id), { code });
  await user(tenant, id);
  await reward(tenant, id);
}

const reward = ({ live }: Pick<TestTenant, 'live'>, id: string, more: object = {}) =>
  live.post(`/rewards/account/${id}/user/${id}`, {
    type: 'CREDIT',
    unit: 'USD',
    assignedCredit: 500,
    ...more,
  });

/** Instead of waiting for the delay behind a failure. */
const makeDue = ({ alias }: TestTenant) =>
  service.service.core.pool.query(
    "update ledger.work_items set due_at = now() where kind = 'mail' and tenant = $1",
    [alias],
  );

it('the story of a referral reaches both sides, each mail once, with both parts and links', async () => {
  const tenant = await tenantWith(...ALL);
  const [ann, bob] = [personal('ann'), personal('bob')];
  const { referralCode } = await user(tenant, ann);
  await user(tenant, bob, { firstName: '<b>Bob', referredBy: { code: referralCode } });
  const started = await server.to(addressOf(ann));
  expect(started.from).toBe('refer@ledger.example');
  expect(started.mail.text).toContain('bBob L');
  expect(started.mail.html).toContain(`https://share.example/s/${tenant.alias}/${referralCode}`);
  expect(started.mail.messageId).toMatch(/^<[0-9a-f]{40}@share\.example>$/);
  expect(started.raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  const welcome = await server.to(addressOf(bob), /^Welcome/);
  expect(welcome.mail.text).toContain('Ann L');
  await tenant.live.post('/accountsync', {
    id: bob,
    subscription: {
      status: 'PAID',
      billingIntervalType: 'MONTH',
      billingIntervalValue: 1,
      value: 9,
    },
  });
  // Bob is welcomed, both have a reward, and Ann reads of the start and the conversion.
  await ended(tenant, 5);
  const all = await mailsOf(tenant);
  expect(all.every(({ state, attempts }) => state === 'DELIVERED' && attempts === 1)).toBe(true);
  const sent = server.received.filter(({ to }) =>
    to.some((one) => [ann, bob].map(addressOf).includes(one)),
  );
  expect(sent).toHaveLength(all.length);
  expect(new Set(sent.map(({ mail }) => mail.messageId)).size).toBe(all.length);
});

it('a mail has the words of the stored theme in the language of the person', async () => {
  const tenant = await tenantWith('REWARD_EARNED');
  const subject = (text: string) => ({
    jsOptions: {},
    widget: {},
    email: {
      configuration: { fromName: 'Acme', fromAddress: 'boss@bank.example' },
      REWARD_EARNED: { configuration: { subject: text } },
    },
  });
  await tenant.live.put('/theme/variables/instance', subject('You have {{reward.text}}'));
  const stored = await tenant.live.put(
    '/theme/fr/variables/instance',
    subject('{{user.firstName}}, voici {{reward.text}}'),
  );
  expect(stored.status).toBe(204);
  // The mails read the read model.
  await eventually(async () => {
    const { body } = await tenant.live.get('/theme/fr/variables/instance');
    return JSON.stringify(body).includes('voici');
  });
  const id = personal('thm');
  await user(tenant, id, { locale: 'fr_CA' });
  await reward(tenant, id);
  const { from, mail, raw } = await server.to(addressOf(id));
  expect(mail.subject).toBe('Ann, voici 500 USD');
  // The domain is not one of the tenant's.
  expect(from).toBe('refer@ledger.example');
  expect(raw).toMatch(/^From: Acme <refer@ledger\.example>\r$/m);
  expect(raw).toMatch(/^Reply-To: boss@bank\.example\r$/m);
});

it('a reward of which nothing is left, or that was cancelled, is not said to expire', async () => {
  const tenant = await tenantWith('REWARD_EXPIRES_SOON');
  const [spent, cancelled] = [personal('spe'), personal('can')];
  const dateExpires = Date.now() + 300 * 86_400_000;
  for (const id of [spent, cancelled]) await user(tenant, id);
  await reward(tenant, spent, { dateExpires });
  const { body } = await reward(tenant, cancelled, { dateExpires, cancellable: true });
  await reach(tenant, 'PENDING', 2);
  const redeemed = await tenant.live.post('/credit/bulkredeem', {
    accountId: spent,
    unit: 'USD',
    amount: 500,
  });
  expect(redeemed.status).toBe(200);
  const cancelling = await tenant.live.post(`/reward/${String(body['id'])}/cancel`, {});
  expect(cancelling.status).toBe(200);
  await makeDue(tenant);
  await ended(tenant, 2);
  expect(reasonsOf(await mailsOf(tenant, { state: 'DEAD' }))).toEqual(
    Array(2).fill('not sent: nothing is left of the reward'),
  );
  expect([spent, cancelled].map((id) => server.offers(addressOf(id)))).toEqual([0, 0]);
});

it('a person who is forgotten, or not to be tracked, gets no mail that was decided or tried before', async () => {
  const tenant = await tenantWith('REWARD_EARNED', 'REWARD_EXPIRES_SOON');
  const [decided, tried, untracked] = [personal('dec'), personal('tri'), personal('dnt')];
  for (const id of [decided, tried, untracked]) await user(tenant, id);
  const dateExpires = Date.now() + 300 * 86_400_000;
  for (const id of [tried, untracked]) server.manners.set(addressOf(id), { code: 451 });
  await reward(tenant, decided, { dateExpires });
  for (const id of [tried, untracked]) await reward(tenant, id);
  await server.to(addressOf(decided));
  await failedOnce(tenant, 2);
  await reach(tenant, 'PENDING', 3);
  for (const [id, query] of [
    [decided, ''],
    [tried, ''],
    [untracked, '?doNotTrack=true'],
  ] as const)
    expect(
      (await tenant.live.call('DELETE', `/open/account/${id}/user/${id}${query}`)).status,
    ).toBe(204);
  for (const id of [tried, untracked]) server.manners.delete(addressOf(id));
  await reach(tenant, 'DEAD', 3, makeDue);
  expect(reasonsOf(await mailsOf(tenant, { state: 'DEAD' }))).toEqual(
    Array(3).fill('not sent: the person is forgotten'),
  );
  expect([decided, tried, untracked].map((id) => server.takenFor(addressOf(id)).length)).toEqual([
    1, 0, 0,
  ]);
});

/** Longer than a claim lasts: a mail whose answer was lost on a busy machine is tried again. */
const WITHIN_TWO_CLAIMS_MS = 130_000;

it('a suspended tenant sends no mail, and none that is older than a week when it is resumed', async () => {
  const tenant = await tenantWith('REWARD_EARNED');
  const [soon, late] = [personal('sus'), personal('old')];
  for (const id of [soon, late]) await rewarded(tenant, id, 451);
  await failedOnce(tenant, 2);
  const made = await mailsOf(tenant);
  expect((await cli('tenant', 'suspend', tenant.alias, '--reason', 'unpaid')).code).toBe(0);
  for (const id of [soon, late]) server.manners.delete(addressOf(id));
  const reasons = async () => {
    await makeDue(tenant);
    return (await mailsOf(tenant)).map(({ state, reason }) => `${state}: ${String(reason)}`);
  };
  const postponed = Array.from({ length: 2 }, () => 'PENDING: the tenant is suspended');
  const isPostponed = async () => (await reasons()).join() === postponed.join();
  // The rows themselves are compared, so that a failure shows them.
  await eventually(isPostponed, WITHIN_TWO_CLAIMS_MS).catch(() => undefined);
  expect(await reasons()).toEqual(postponed);
  await service.service.core.pool.query(
    "update ledger.mail_deliveries set created = created - interval '8 days' where id = $1",
    [made[0]?.id],
  );
  await reach(tenant, 'DEAD', 1, makeDue);
  expect(await mailsOf(tenant, { state: 'DEAD' })).toMatchObject([
    { id: made[0]?.id, attempts: 1, reason: 'not sent: for a week the tenant is suspended' },
  ]);
  expect([soon, late].map((id) => server.takenFor(addressOf(id)).length)).toEqual([0, 0]);
  expect((await cli('tenant', 'resume', tenant.alias)).code).toBe(0);
  await reach(tenant, 'DELIVERED', 1, makeDue);
  const taken = [soon, late].map((id) => server.takenFor(addressOf(id)).length);
  expect(taken.sort()).toEqual([0, 1]);
}, 240_000);

it('a person who is blocked or has no usable address gets no mail, and a type that is off sends none', async () => {
  const tenant = await tenantWith('REWARD_EARNED');
  const [blocked, without] = [personal('blk'), personal('non')];
  await user(tenant, blocked);
  await tenant.live.post(`/account/${blocked}/user/${blocked}/block`, {});
  await user(tenant, without, { email: null });
  await reward(tenant, blocked);
  await reward(tenant, without);
  await ended(tenant, 2);
  expect(reasonsOf(await mailsOf(tenant, { state: 'DEAD' })).sort()).toEqual([
    'not sent: the person has no usable e-mail address',
    'not sent: the person is blocked',
  ]);
  await cli('tenant', 'update', tenant.alias, '--mail', 'none');
  await user(tenant, personal('off'));
  await reward(tenant, without);
  expect(await mailsOf(tenant)).toHaveLength(2);
});

it('the test mode sends to listed addresses only', async () => {
  const tenant = await tenantWith('REWARD_EARNED');
  const [listed, other] = [personal('lis'), personal('oth')];
  const updated = await cli(
    'tenant',
    'update',
    tenant.alias,
    '--mail-test-to',
    addressOf(listed).toUpperCase(),
  );
  expect(updated.json).toMatchObject({
    mail: { types: ['REWARD_EARNED'], testTo: [addressOf(listed).toUpperCase()] },
  });
  for (const id of [other, listed]) {
    await user({ live: tenant.test }, id);
    await reward({ live: tenant.test }, id);
  }
  await server.to(addressOf(listed));
  await eventually(
    async () => (await mailsOf(tenant, { mode: 'test', state: 'DEAD' })).length === 1,
  );
  expect(server.offered).not.toContain(addressOf(other));
});

it('an address receives 20 mails a day; a further one is dead, and can be sent again', async () => {
  const tenant = await tenantWith('REWARD_EARNED');
  const [one, other] = [personal('day'), personal('dax')];
  await user(tenant, one);
  await user(tenant, other, { email: addressOf(one).toUpperCase() });
  for (let n = 0; n < 21; n += 1) await reward(tenant, n % 2 === 0 ? one : other);
  await ended(tenant, 21);
  const [dead, ...more] = await mailsOf(tenant, { state: 'DEAD' });
  expect(dead).toMatchObject({ attempts: 0, reason: 'daily limit' });
  expect(more).toEqual([]);
  expect((await cli('mail', 'resend', tenant.alias, dead?.id ?? '')).code).toBe(0);
  await reach(tenant, 'DELIVERED', 21);
});

it('a refused mail is dead, a refusal for now is tried again', async () => {
  const tenant = await tenantWith('REWARD_EARNED');
  const [never, later] = [personal('nev'), personal('lat')];
  await rewarded(tenant, never, 550);
  await rewarded(tenant, later, 451);
  await reach(tenant, 'DEAD', 1);
  const [dead] = await mailsOf(tenant, { state: 'DEAD' });
  expect(dead).toMatchObject({ reason: 'the server answered 550', attempts: 1 });
  await failedOnce(tenant, 1);
  server.manners.delete(addressOf(later));
  await makeDue(tenant);
  await server.to(addressOf(later));
  server.manners.delete(addressOf(never));
  expect((await cli('mail', 'resend', tenant.alias, dead!.id)).json).toEqual({ resent: 1 });
  const first = await server.to(addressOf(never));
  // What is still being sent is not sent again.
  await ended(tenant, 2);
  expect((await cli('mail', 'resend', tenant.alias, dead!.id)).code).toBe(0);
  await eventually(
    () => server.received.filter(({ to }) => to[0] === addressOf(never)).length === 2,
  );
  const again = server.received.findLast(({ to }) => to[0] === addressOf(never));
  expect(again?.mail.messageId).toBe(first.mail.messageId);
  expect((await cli('mail', 'resend', tenant.alias, 'x')).code).toBe(1);
});

it('a mail of before the type was switched off is not sent once it is on again', async () => {
  const tenant = await tenantWith('REWARD_EARNED');
  const id = personal('onf');
  await rewarded(tenant, id, 451);
  await failedOnce(tenant, 1);
  await mailsAre(tenant);
  await mailsAre(tenant, 'REWARD_EARNED');
  server.manners.delete(addressOf(id));
  await makeDue(tenant);
  await ended(tenant, 1);
  expect(reasonsOf(await mailsOf(tenant))).toEqual(['not sent: the type was switched off since']);
});

it('health and metrics show what came of mails, what waits, and a sender that cannot read what is due', async () => {
  const scrape = async () => {
    const metrics = parseMetrics(await (await fetch(`${service.origin}/metrics`)).text());
    const counted = (outcome: string) =>
      metrics.value('ledger_mail_attempts_total', { outcome }) ?? NaN;
    return {
      counts: ['delivered', 'failed', 'refused', 'not-sent'].map(counted),
      waiting: metrics.value('ledger_mails_waiting') ?? NaN,
      oldest: metrics.value('ledger_mails_waiting_oldest_seconds') ?? NaN,
      still: metrics.value('ledger_mail_sender_still_seconds') ?? NaN,
    };
  };
  const check = async () => {
    const { checks } = (await (await fetch(`${service.origin}/health/ready`)).json()) as {
      checks: Record<string, Readonly<Record<string, unknown>>>;
    };
    return checks['mails'];
  };
  const before = await scrape();
  const tenant = await tenantWith('REWARD_EARNED');
  const [never, later, without] = [personal('nvr'), personal('ltr'), personal('wth')];
  const all = [personal('tak'), never, later, without];
  server.manners.set(addressOf(never), { code: 550 });
  server.manners.set(addressOf(later), { code: 451 });
  for (const id of all) await user(tenant, id, id === without ? { email: null } : {});
  for (const id of all) await reward(tenant, id);
  await eventually(async () => {
    const { counts, waiting, oldest } = await scrape();
    const areCounted = counts.every((count, n) => count > (before.counts[n] ?? NaN));
    return areCounted && waiting === 1 && oldest > 0;
  });
  expect(await check()).toMatchObject({ ok: true, sends: true, waiting: 1, lastError: null });
  const { pool } = service.service.core;
  await pool.query('alter table ledger.mail_deliveries rename to mails_away');
  await makeDue(tenant);
  try {
    await eventually(async () => (await check())?.['lastError'] === 'error 42P01');
    await eventually(async () => (await scrape()).still > 1);
    expect(await check()).toMatchObject({ ok: false, sends: true });
  } finally {
    await pool.query('alter table ledger.mails_away rename to mail_deliveries');
  }
  await eventually(async () => (await check())?.['ok'] === true && (await scrape()).still < 1);
});

const claim = (client: Parameters<typeof claimWork>[0], items: number): Promise<ClaimedWork[]> =>
  claimWork(client, {
    kind: MAILS,
    process: 1,
    items,
    ofTenant: 4,
    ofLane: 100,
    underWay: [],
    paused: [],
    narrow: [],
    after: '',
    leaseMs: LEASE_MS,
  });

it('a failing mail is tried for two days with growing delay and then dead, and delays no other', async () => {
  const client = await service.service.core.pool.connect();
  const HOUR_MS = 3_600_000;
  try {
    await client.query('begin');
    await client.query('delete from ledger.work_items');
    const plan = async (): Promise<string> => {
      const id = randomUUID();
      await planMail(client, { ...PLANNED, tenant: 'aa', id, about: id }, 0);
      return id;
    };
    /** The ids that are claimed, and being sent from now on. */
    const begin = async (): Promise<readonly string[]> => {
      const claimed = await claim(client, 8);
      for (const item of claimed) expect(await beginSending(client, item)).toBe(true);
      return claimed.map(({ id }) => id);
    };
    const failing = await plan();
    const gaps: number[] = [];
    let state = 'PENDING';
    while (state === 'PENDING' && gaps.length < 100) {
      const other = await plan();
      expect([...(await begin())].sort()).toEqual([failing, other].sort());
      await recordOutcome(client, { id: other, attempts: 1 }, { kind: 'delivered' });
      const inMs = retryInMs(gaps.length + 1);
      const attempt = { id: failing, attempts: gaps.length + 1 };
      await recordOutcome(client, attempt, { kind: 'failed', reason: 'away', inMs });
      // Its clock moves to the next attempt: that of the database does not.
      const { rows } = await client.query<{ state: string; reason: string }>(
        'select state, reason from ledger.mail_deliveries where id = $1',
        [failing],
      );
      const [row] = rows;
      state = row?.state ?? 'gone';
      expect(row?.reason).toBe('away');
      if (state !== 'PENDING') continue;
      gaps.push(inMs);
      await client.query(
        `update ledger.mail_deliveries
         set retried_until = retried_until - $2 * interval '1 millisecond' where id = $1`,
        [failing, inMs],
      );
      await client.query('update ledger.work_items set claimed_by = null where id = $1', [failing]);
    }
    expect(state).toBe('DEAD');
    expect(gaps[0]).toBeLessThan(30_000);
    for (const [n, gap] of gaps.slice(1, 7).entries()) expect(gap).toBeGreaterThan(gaps[n] ?? NaN);
    const triedForMs = gaps.reduce((sum, gap) => sum + gap, 0);
    expect(triedForMs).toBeLessThan(48 * HOUR_MS);
    expect(triedForMs).toBeGreaterThan(43 * HOUR_MS);
    expect(await begin()).toEqual([]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

it('a mail that is due without a sender is reported as unsent, and a later one does not wait', async () => {
  const client = await service.service.core.pool.connect();
  try {
    await client.query('begin');
    await client.query('delete from ledger.mail_deliveries');
    await client.query('delete from ledger.work_items');
    const none = { waiting: 0, oldestWaitingSeconds: 0, unsentSeconds: 0 };
    expect(await waitingMails(client)).toEqual(none);
    const plan = (id: string, dueAt: number) =>
      planMail(client, { ...PLANNED, tenant: 'aa', id, about: id }, dueAt);
    await plan(randomUUID(), Date.now() + 86_400_000);
    expect(await waitingMails(client)).toEqual(none);
    const [first, second] = [randomUUID(), randomUUID()];
    for (const id of [first, second]) await plan(id, Date.now() - 60_000);
    const unsent = await waitingMails(client);
    expect(unsent.waiting).toBe(2);
    expect(unsent.oldestWaitingSeconds).toBeGreaterThan(50);
    expect(unsent.unsentSeconds).toBeGreaterThan(50);
    for (const item of await claim(client, 1)) expect(await beginSending(client, item)).toBe(true);
    expect(await waitingMails(client)).toMatchObject({ waiting: 2, unsentSeconds: 0 });
  } finally {
    await client.query('rollback');
    client.release();
  }
});

it('a person unsubscribes with the button of a page, not by opening it', async () => {
  const tenant = await tenantWith('REWARD_EARNED');
  const id = personal('uns');
  await rewarded(tenant, id);
  const { mail } = await server.to(addressOf(id));
  const list = mail.headers.get('list') as { unsubscribe?: { url?: string } } | undefined;
  const url = list?.unsubscribe?.url ?? '';
  expect(url).toMatch(/^https:\/\/share\.example\/mail\/unsubscribe\//);
  expect(mail.text).toContain(url);
  const { pathname } = new URL(url);
  for (const part of pathname.split(/[/.]/))
    expect(Buffer.from(part, 'base64url').toString()).not.toContain(id);
  const call = (path: string, method: string) =>
    fetch(`${service.origin}${path}`, {
      method,
      ...(method === 'POST' && { body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }),
    });
  const page = await call(pathname, 'GET');
  // It has a count of its own, apart from that of share links.
  expect(page.headers.get('ratelimit-policy')).toBe('"unsubscribe";q=1000;w=60');
  expect([page.status, page.headers.get('content-type')]).toEqual([
    200,
    'text/html; charset=utf-8',
  ]);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await page.text()).toContain('<form method="post">');
  const german = await fetch(`${service.origin}${pathname}`, {
    headers: { 'accept-language': 'xx, de-CH;q=0.9, en;q=0.8' },
  });
  expect(await german.text()).toMatch(/<html lang="de-CH">[^]*<h1>Abmelden<\/h1>/);
  for (const forged of [`${pathname}x`, pathname.replace(/\.[0-9a-f]/, '.g'), `${pathname}.y`])
    for (const method of ['GET', 'POST']) {
      const { status, headers } = await call(forged, method);
      expect([status, headers.get('cache-control')]).toEqual([404, 'no-store']);
    }
  await reward(tenant, id);
  await reach(tenant, 'DELIVERED', 2);
  for (let times = 0; times < 2; times += 1)
    expect((await call(pathname, 'POST')).status).toBe(200);
  await reward(tenant, id);
  await ended(tenant, 3);
  const another = personal('new');
  await user(tenant, another, { email: addressOf(id).toUpperCase() });
  await reward(tenant, another);
  await ended(tenant, 4);
  expect(reasonsOf(await mailsOf(tenant, { state: 'DEAD' }))).toEqual([
    'not sent: the address has unsubscribed',
    'not sent: the person has unsubscribed',
  ]);
});

it('nothing of a person is in the rows or the log lines', async () => {
  const { rows } = await service.service.core.pool.query('select * from ledger.mail_deliveries');
  expect(rows.length).toBeGreaterThan(5);
  for (const text of [
    JSON.stringify(rows, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    ),
    service.logText,
  ]) {
    expect(text).not.toContain('mail.example');
    expect(text).not.toContain('Bob');
  }
});
