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

/** Two tenants, each in both modes. Their clients are not limited in their calls. */
export async function createLedgers(
  tenants: TenantCommands,
  aliases: readonly [string, string],
): Promise<readonly Ledger[]> {
  if (!('id' in BUSY_PROGRAM)) throw new Error(JSON.stringify(BUSY_PROGRAM));
  const ledgers: Ledger[] = [];
  for (const [index, alias] of aliases.entries()) {
    const created = await tenants.create({
      alias,
      programType: 'API_ONLY',
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
      });
  }
  return ledgers;
}

const user = z.object({ referralCode: z.string() });

/** Something of every kind, before anything is drawn. @param call throws for a refusal. */
export async function openSmallWorld(
  { mark }: Ledger,
  call: (method: string, path: string, body?: object) => Promise<unknown>,
): Promise<void> {
  const [owner, friend] = [`${mark}-owner`, `${mark}-friend`];
  const at = (id: string): string => `account/${id}/user/${id}`;
  // The oldest person is the first to be deleted.
  await call('PUT', '/open/user/cookie_user', { cookieId: `${mark}-cookie` });
  await call('POST', '/accountsync', { id: owner, subscription: { status: 'TRIAL' } });
  const { referralCode: code } = user.parse(
    await call('POST', '/user', { id: owner, accountId: owner, firstName: mark }),
  );
  await call('POST', '/accountsync', {
    id: friend,
    subscription: { status: 'TRIAL' },
    referral: { code },
  });
  await call('POST', '/user', { id: friend, accountId: friend, email: `${mark}@example.com` });
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
  await call('GET', '/referrals');
}
