import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Adjustment } from '../../../src/domain/account/account.events.js';
import type { DomainEvent } from '../../../src/domain/events.js';
import { personal } from '../../../src/domain/personal.js';
import { CURRENT_VERSIONS } from '../../../src/event-log/event-schemas.js';

export interface Sample {
  readonly data?: string;
  readonly metadata?: string;
  readonly event: DomainEvent;
}
export const SAMPLES = join(__dirname, '../samples');

export function sampleOf(type: string, version: number): Sample {
  const path = join(SAMPLES, `${type}.v${version}.json`);
  if (!existsSync(path))
    throw new Error(`there is no stored sample of ${type}, version ${version}`);
  return JSON.parse(readFileSync(path, 'utf8')) as Sample;
}

type EventOf<T extends DomainEvent['type']> = Extract<DomainEvent, { readonly type: T }>;

const ACCOUNT = '0a000000-0000-4000-8000-000000000001';
const BOB = '0b000000-0000-4000-8000-000000000002';
const STAFF = '0a000000-0000-4000-8000-000000000006';
const REWARD = `${'a'.repeat(32)}${'2'.repeat(16)}`;
const ADJUSTMENT: Adjustment = {
  reason: personal(BOB, 'bob was overcharged'),
  approvedBy: personal(STAFF, 'Staff Approver'),
  by: personal(STAFF, 'Staff Operator'),
};

/** Optional members that came without a new version, so that the stored samples lack them. */
const LATER: { readonly [T in DomainEvent['type']]?: Partial<EventOf<T>> } = {
  RewardGranted: { adjustment: ADJUSTMENT },
  CreditRedeemed: { adjustment: ADJUSTMENT },
  AccountCreditRedeemed: { onlyOf: BOB, adjustment: ADJUSTMENT },
  RewardPushStarted: {
    body: personal(ACCOUNT, {
      calls: [
        {
          kind: 'DISCOUNT',
          key: `reward:${REWARD}:sub_2`,
          subscription: 'sub_2',
          percent: 10,
          months: 3,
          keeps: ['di_1'],
          slot: 4,
        },
      ],
      done: ['sub_1'],
    }),
  },
  RewardPushRefused: { reference: personal(ACCOUNT, 'di_1') },
};

/** One event of every type, with a value in every member: that of the newest stored sample. */
export const EVENT_EXAMPLES = Object.fromEntries(
  Object.entries(CURRENT_VERSIONS).map(([type, version]) => [
    type,
    { ...sampleOf(type, version).event, ...LATER[type as DomainEvent['type']] },
  ]),
) as unknown as { readonly [T in DomainEvent['type']]: EventOf<T> };
