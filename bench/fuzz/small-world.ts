import { z } from 'zod';
import type { TenantCommands } from '../../src/command-handling/tenant-commands.js';
import { COUNTED_CALLS } from '../../src/domain/tenant/open-rules.js';
import { MODES } from '../../src/domain/scope.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { parseProgram } from '../../src/operations/tenants/program-schema.js';
import { MARK, type Ledger } from './ledger-values.js';

/** A program that reacts to much of what is sent. */
const BUSY_PROGRAM = parseProgram({
  id: 'default',
  referredReward: { type: 'CREDIT', unit: 'POINTS', assignedCredit: 50, when: 'CONVERTED' },
  referrerReward: {
    type: 'FUELTANK',
    fuelTankType: 'CREDIT',
    amount: 5,
    fuelTankCodes: Array.from({ length: 500 }, (_, index) => `tank-${index}`),
  },
  eventRewards: [
    { key: 'purchase', to: 'USER', reward: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5 } },
    {
      key: 'visit',
      firstTimeOnly: true,
      to: 'REFERRER',
      reward: { type: 'PCT_DISCOUNT', discountPercent: 3 },
    },
  ],
  moderation: { referrer: 'PENDING' },
  fraud: { name: 'pending', email: 'deny', rate: 'pending' },
});

const CALLS_MAX = 1_000_000_000;

export interface FuzzedTenants {
  readonly aliases: readonly [string, string];
  /** What the service may call. With it there is a third tenant, of a payment provider. */
  readonly outside?: { readonly url: string; readonly alias: string };
}

/** Tenants, each in both modes. Their clients are not limited in their calls. */
export async function createLedgers(
  tenants: TenantCommands,
  { aliases, outside }: FuzzedTenants,
): Promise<readonly Ledger[]> {
  if (!('id' in BUSY_PROGRAM)) throw new Error(JSON.stringify(BUSY_PROGRAM));
  const ledgers: Ledger[] = [];
  const all = [...aliases, ...(outside === undefined ? [] : [outside.alias])];
  for (const [index, alias] of all.entries()) {
    const hasProvider = alias === outside?.alias;
    const created = await tenants.create({
      alias,
      programType: hasProvider ? 'PAYMENT_PROVIDER' : 'API_ONLY',
      openEndpoints: true,
      program: index === 0 ? DEFAULT_PROGRAM : BUSY_PROGRAM,
    });
    if ('refused' in created) throw new Error(created.refused);
    const rateLimits = Object.fromEntries(COUNTED_CALLS.map((call) => [call, CALLS_MAX]));
    await tenants.execute(alias, {
      type: 'ChangeOpenRules',
      changes: { rateLimits },
      now: Date.now(),
    });
    for (const mode of MODES)
      ledgers.push({
        tenant: alias,
        mode,
        apiKey: created[`${mode}ApiKey`],
        signingSecret: created[`${mode}SigningSecret`],
        mark: `${MARK}${ledgers.length}j7`,
        hasProvider,
        ...(outside === undefined ? {} : { outside: outside.url }),
      });
  }
  return ledgers;
}

const user = z.object({ referralCode: z.string() });

/** Something of every kind, before anything is drawn. @param call throws for a refusal. */
export async function openSmallWorld(
  { mark, outside, hasProvider }: Ledger,
  call: (method: string, path: string, body?: object) => Promise<unknown>,
): Promise<void> {
  const [owner, friend] = [`${mark}-owner`, `${mark}-friend`];
  const at = (id: string): string => `account/${id}/user/${id}`;
  // The oldest person is the first to be deleted.
  await call('PUT', '/open/user/cookie_user', { cookieId: `${mark}-cookie` });
  const open = (id: string, referral?: object): Promise<unknown> =>
    hasProvider
      ? call('POST', `/open/${at(id)}`, { id, accountId: id, paymentProviderId: `cus-${id}` })
      : call('POST', '/accountsync', { id, subscription: { status: 'TRIAL' }, referral });
  await open(owner);
  const { referralCode: code } = user.parse(
    await call('POST', '/user', { id: owner, accountId: owner, firstName: mark }),
  );
  await open(friend, { code });
  await call('POST', '/user', {
    id: friend,
    accountId: friend,
    email: `${mark}@example.com`,
    referredByCodes: [code],
  });
  await call('POST', `/rewards/${at(owner)}`, {
    type: 'CREDIT',
    unit: 'CENTS',
    assignedCredit: 900,
  });
  await call('POST', `/rewards/${at(owner)}`, {
    type: 'FUELTANK',
    fuelTankCode: `${mark}-tank`,
    fuelTankType: 'CREDIT',
    amount: 3,
  });
  await call('POST', `/open/${at(owner)}/events`, {
    accountId: owner,
    userId: owner,
    events: [{ key: 'purchase', fields: { amount: 5 } }],
  });
  await call('POST', '/subscription', {
    endpointUrl: `${outside ?? `https://${mark}.example`}/${mark}/owner`,
  });
  await call('POST', '/export', { type: 'USER', format: 'CSV' });
  await call('GET', '/referrals');
}
