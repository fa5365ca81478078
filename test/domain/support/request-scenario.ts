import type { AccountEvent } from '../../../src/domain/account/account.events.js';
import type { Circumstances, Ids } from '../../../src/domain/account/requests/circumstances.js';
import { decide, type AccountCommand } from '../../../src/domain/account/account.decider.js';
import {
  codesKey,
  reservationKey,
  type Need,
  type NeededReservation,
  type Provided,
  NOTHING_PROVIDED,
} from '../../../src/domain/need.js';
import { DEFAULT_PROGRAM } from '../../../src/domain/tenant/program-document.js';
import {
  evolve,
  initialState,
  type OpenTenant,
  type ProgramDocument,
  type TenantEvent,
  type TenantState,
} from '../../../src/domain/tenant/tenant.decider.js';
import { A_FRIEND, ACME, ANNS_CODE, fold, NOW } from './account-scenario.js';
import { outcome } from './scenario.js';

/** Readable in place of hashed. */
const IDS: Ids = {
  uuid: (cause, step) => `${cause}/${step}`,
  within: (cause) => `within ${cause}`,
  rewardOfEvent: (...names) => `reward of ${names.join(' ')}`,
  userRef: (userId) => `ref of ${userId}`,
  batchRef: (userId, key) => `batch of ${userId} ${key}`,
  eventRef: (userId, eventId) => `event of ${userId} ${eventId}`,
  valueRef: (person, value) => `${person} ${JSON.stringify(value)}`,
};

export function aTenant(...programs: readonly ProgramDocument[]): OpenTenant {
  const made: TenantEvent = {
    type: 'TenantCreated',
    at: 1,
    alias: 'demo',
    programType: 'API_ONLY',
    openEndpoints: true,
  };
  const applied = [DEFAULT_PROGRAM, ...programs].map((document, index): TenantEvent => ({
    type: 'ProgramApplied',
    at: 1,
    version: 1,
    isDefault: index === 0,
    document,
    eventRules: [],
  }));
  const tenant = [made, ...applied].reduce<TenantState>(evolve, initialState);
  if (tenant.status === 'absent') throw new Error('no tenant');
  return tenant;
}

/** `asked(events, request).with(fetched)`, then `.needs(…)`, `.then(…)` or `.refused(…)`. */
export function asked(
  events: readonly AccountEvent[],
  request: AccountCommand,
  tenant: OpenTenant = aTenant(),
) {
  const decided = (provided: Provided) => {
    const circumstances: Circumstances = {
      now: NOW,
      account: ACME.accountRef,
      tenant,
      provided,
      commandId: 'command',
      ids: IDS,
    };
    return outcome(decide(fold(events), request, circumstances));
  };
  return {
    ...decided(NOTHING_PROVIDED),
    with: (...fetched: readonly Partial<Provided>[]) =>
      decided(fetched.reduce<Provided>((all, one) => merged(all, one), NOTHING_PROVIDED)),
  };
}

const merged = (all: Provided, one: Partial<Provided>): Provided =>
  Object.fromEntries(
    Object.entries(all).map(([name, entries]) => [
      name,
      { ...entries, ...one[name as keyof Provided] },
    ]),
  ) as unknown as Provided;

export const named = (cause: string, subject: string, from = 0): Partial<Provided> => ({
  subjects: { [cause]: { from, subject } },
});

export const reservedAs = (
  need: Need,
  outcomeOf: Provided['reservations'][string],
): Partial<Provided> => ({
  reservations: { [reservationKey(need as NeededReservation)]: outcomeOf },
});

export const ownedByAnn = (...codes: readonly string[]): Partial<Provided> => ({
  codeOwners: { [codesKey(codes)]: { owner: ANNS_CODE, referrer: A_FRIEND } },
});

export const ownedByNobody = (...codes: readonly string[]): Partial<Provided> => ({
  codeOwners: { [codesKey(codes)]: { owner: null, referrer: null } },
});
