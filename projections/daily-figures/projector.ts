import { listedRedemptions } from '../../src/domain/account/rewards/bulk-redemption.js';
import type { RewardRef } from '../../src/domain/account/account.events.js';
import { countedAt } from '../../src/domain/fact.js';
import { defineProjector } from '../../src/projecting/define-projector.js';
import type { Erasure, LedgerEvent, RowKey, Rows } from '../../src/projecting/projector.js';
import { nextDue } from '../reward-balances/contribution.js';
import { availableOf, movementOf, type CreditItem, type Movement } from './movement.js';
import {
  creditHolders,
  creditItems,
  dailyCounts,
  dailyCredit,
  type CreditItemRow,
  type DailyCreditRow,
} from './table.js';
import { ownMember } from '../../src/domain/own-member.js';
import { unitKey } from '../../src/domain/units.js';

/** Figures of forgotten people stay; their credit ends with the erasure. */
export const dailyFiguresProjector = defineProjector({
  name: 'daily-figures',
  tables: [dailyCounts, dailyCredit, creditItems, creditHolders],
  on: {
    // Imported conversions and rewards happened elsewhere and count on no day.
    ReferralConverted: {
      keys: dayRow,
      apply(event, rows) {
        if (!event.event.imported) count(event, rows, { conversions: 1 });
      },
    },
    RewardGranted: {
      keys(event) {
        const { rewardId, person, value } = event.event;
        const counts = dayRow(event);
        if (value.type !== 'CREDIT') return counts;
        return [...counts, ...creditRows(event, { rewardId, person, unit: value.unit })];
      },
      apply(granted, rows) {
        const { event, tenant, mode } = granted;
        const { rewardId, person, value, dateScheduledFor, dateExpires } = event;
        const { imported } = event;
        if (!imported) count(granted, rows, { rewards_granted: 1 });
        // Granted once: a repetition would move it twice.
        if (value.type !== 'CREDIT' || creditItems.get(rows, rewardId)) return;
        const phase = imported?.phase ?? (dateScheduledFor === null ? 'AVAILABLE' : 'PENDING');
        const cancelled = imported?.dateCancelled != null;
        const dates = { date_scheduled_for: dateScheduledFor, date_expires: dateExpires };
        const item: CreditItemRow = {
          reward_id: rewardId,
          tenant,
          mode,
          person,
          unit_key: unitKey(value.unit),
          phase,
          cancelled,
          assigned: value.assignedCredit,
          redeemed: imported?.redeemed ?? 0,
          date_scheduled_for: dateScheduledFor,
          date_expires: dateExpires,
          redeems_automatically: event.redeemsAutomatically,
          due_at: nextDue({ cancelled, phase, ...dates }),
        };
        creditItems.put(rows, item);
        const available = creditHolders.get(rows, person)?.available ?? {};
        creditHolders.put(rows, {
          person,
          tenant,
          mode,
          available: {
            ...available,
            [item.unit_key]: ownMember(available, item.unit_key) ?? 0,
          },
        });
        const { unit } = value;
        if (!imported)
          return move(rows, counted(granted), {
            item,
            unit,
            movement: movementOf(undefined, item),
          });
        const opening = availableOf(item);
        hold(rows, item, opening);
        addMovement(rows, counted(granted), { unit, movement: { imported: opening } });
      },
    },
    RewardBecameAvailable: {
      keys: rowsOfReward,
      apply: (event, rows) => change(event, rows, ({ phase }) => ({ phase: begun(phase) })),
    },
    RewardExpired: {
      keys: rowsOfReward,
      apply: (event, rows) => change(event, rows, () => ({ phase: 'EXPIRED' })),
    },
    CreditRedeemed: {
      keys: rowsOfReward,
      apply: (event, rows) =>
        change(event, rows, ({ redeemed }) => ({ redeemed: redeemed + event.event.amount })),
    },
    AccountCreditRedeemed: {
      keys: (event) => {
        const { owners = [], unit } = event.event;
        const holders = owners.map(([person]) => creditHolders.key(person));
        return [...holders, creditDay(counted(event), unit)];
      },
      apply(event, rows) {
        const { owners = [], unit } = event.event;
        for (const [person, redeemed] of owners) {
          if (!creditHolders.get(rows, person)) continue;
          hold(rows, { person, unit_key: unitKey(unit) }, -redeemed);
          addMovement(rows, counted(event), { unit, movement: { redeemed } });
        }
      },
    },
    RedeemedRewardsListed: {
      keys: (event) =>
        listedRedemptions(event.event).flatMap(({ rewardId, person }) =>
          creditRows(event, { rewardId, person, unit: event.event.unit }),
        ),
      apply(event, rows) {
        const { unit } = event.event;
        for (const { rewardId, amount } of listedRedemptions(event.event))
          changeItem(dated(event), rows, {
            rewardId,
            unit,
            changes: ({ redeemed, phase }) => ({
              redeemed: redeemed + amount,
              phase: begun(phase),
            }),
            takenBefore: event.event.posted ? amount : 0,
          });
      },
    },
    RewardCancelled: {
      keys: rowsOfReward,
      apply: (event, rows) => change(event, rows, () => ({ cancelled: true })),
    },
    RewardRestored: {
      keys: rowsOfReward,
      apply: (event, rows) => {
        const { at } = counted(event);
        change(event, rows, (item) => ({ cancelled: false, ...standingAt(item, at) }));
      },
    },
  },

  forgetting: {
    // Immediately: further events of these rewards may arrive before the last piece is cleaned.
    // Without a holder they move nothing.
    immediate: {
      keys: ({ persons }) => [...persons].map((person) => creditHolders.key(person)),
      furtherKeys: (erasure, rows) =>
        unitsOf(erasure, rows).map(({ unit }) => creditDay(erasure, unit)),
      clean(erasure, rows) {
        for (const { unit, amount } of unitsOf(erasure, rows))
          addMovement(rows, erasure, { unit, movement: { cancelled: amount } });
        for (const person of erasure.persons) creditHolders.delete(rows, person);
      },
    },
    lookups: ({ persons }) => [creditItems.lookup({ person: [...persons] })],
    clean(_forgotten, rows) {
      for (const { reward_id } of creditItems.found(rows)) creditItems.delete(rows, reward_id);
    },
  },
});

type Dated = Pick<LedgerEvent, 'tenant' | 'mode'> & { readonly at: number };
type AboutReward = LedgerEvent<{ readonly type: string; readonly at: number } & RewardRef>;

const DAY_LENGTH = 'YYYY-MM-DD'.length;

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, DAY_LENGTH);

type HasTime = LedgerEvent<{
  readonly at: number;
  readonly imported?: { readonly at: number } | undefined;
}>;

/** As in an account's statement, so that the statements of all add up to the tenant's. */
const counted = (of: HasTime): Dated => ({ ...dated(of), at: countedAt(of) });

const dated = ({ tenant, mode, event: { at } }: HasTime): Dated => ({ tenant, mode, at });

/** Credit becomes available, is redeemed automatically and expires on its dates. */
const isOnDate = ({ event: { type, at } }: AboutReward, item: CreditItem | undefined): boolean =>
  type === 'RewardBecameAvailable' ||
  type === 'RewardExpired' ||
  (item?.redeems_automatically === true && at === item.date_scheduled_for);

const begun = (phase: CreditItem['phase']) => (phase === 'PENDING' ? 'AVAILABLE' : phase);

/** Dates that passed while it was cancelled count from its restoration on. */
function standingAt({ phase, date_scheduled_for, date_expires }: CreditItem, at: number): Changes {
  if ((date_expires ?? Infinity) <= at) return { phase: 'EXPIRED' };
  return phase === 'PENDING' && (date_scheduled_for ?? Infinity) <= at
    ? { phase: 'AVAILABLE', date_scheduled_for: null }
    : {};
}

function dayRow({ tenant, mode, event }: LedgerEvent<{ readonly at: number }>): RowKey[] {
  return [dailyCounts.key(tenant, mode, dayOf(event.at))];
}

const creditDay = ({ tenant, mode, at }: Dated, unit: string): RowKey =>
  dailyCredit.key(tenant, mode, dayOf(at), unitKey(unit));

function creditRows(
  event: HasTime,
  { rewardId, person, unit }: { rewardId: string; person: string; unit: string },
): RowKey[] {
  const days = [creditDay(dated(event), unit), creditDay(counted(event), unit)];
  return [creditItems.key(rewardId), creditHolders.key(person), ...days];
}

function rowsOfReward(event: AboutReward): RowKey[] {
  const { rewardId, person, rewardType, unit } = event.event;
  return rewardType === 'CREDIT' && unit !== null
    ? creditRows(event, { rewardId, person, unit })
    : [];
}

function count(
  { tenant, mode, event: { at } }: LedgerEvent<{ readonly at: number }>,
  rows: Rows,
  more: { readonly conversions?: number; readonly rewards_granted?: number },
): void {
  const day = dayOf(at);
  const before = dailyCounts.get(rows, tenant, mode, day);
  dailyCounts.put(rows, {
    tenant,
    mode,
    day,
    conversions: (before?.conversions ?? 0) + (more.conversions ?? 0),
    rewards_granted: (before?.rewards_granted ?? 0) + (more.rewards_granted ?? 0),
  });
}

type Changes = Partial<Pick<CreditItem, 'phase' | 'cancelled' | 'redeemed' | 'date_scheduled_for'>>;

function change(event: AboutReward, rows: Rows, changes: (item: CreditItem) => Changes): void {
  const { rewardId, rewardType, unit } = event.event;
  if (rewardType !== 'CREDIT' || unit === null) return;
  const on = isOnDate(event, creditItems.get(rows, rewardId)) ? dated(event) : counted(event);
  changeItem(on, rows, { rewardId, unit, changes });
}

function changeItem(
  on: Dated,
  rows: Rows,
  {
    rewardId,
    unit,
    changes,
    takenBefore = 0,
  }: {
    rewardId: string;
    unit: string;
    changes: (item: CreditItem) => Changes;
    /** The part of the amount that day and holder already have. */
    takenBefore?: number;
  },
): void {
  const before = creditItems.get(rows, rewardId);
  // Without a holder the person was forgotten, and the item waits to be deleted.
  if (!before || !creditHolders.get(rows, before.person)) return;
  const changed = { ...before, ...changes(before) };
  if (changed.redeemed > changed.assigned)
    throw new Error(`more was redeemed than assigned: reward ${rewardId}`);
  const item: CreditItemRow = { ...changed, due_at: nextDue(changed) };
  creditItems.put(rows, item);
  move(rows, on, { item, unit, movement: movementOf(before, item) }, before);
  if (takenBefore === 0) return;
  hold(rows, item, takenBefore);
  addMovement(rows, on, { unit, movement: { [outcomeOf(item)]: -takenBefore } });
}

/** Where a listed reward's amount was counted: its end may have been recorded before its list. */
const outcomeOf = ({ cancelled, phase }: CreditItem): keyof Movement =>
  cancelled ? 'cancelled' : phase === 'EXPIRED' ? 'expired' : 'redeemed';

interface Moved {
  readonly item: CreditItemRow;
  readonly unit: string;
  readonly movement: Movement;
}

function move(
  rows: Rows,
  on: Dated,
  { item, unit, movement }: Moved,
  before?: CreditItemRow,
): void {
  const more = availableOf(item) - (before === undefined ? 0 : availableOf(before));
  hold(rows, item, more);
  addMovement(rows, on, { unit, movement });
}

function hold(
  rows: Rows,
  { person, unit_key: key }: Pick<CreditItemRow, 'person' | 'unit_key'>,
  more: number,
): void {
  creditHolders.change(rows, [person], (holder) => ({
    ...holder,
    available: { ...holder.available, [key]: (ownMember(holder.available, key) ?? 0) + more },
  }));
}

const NO_CREDIT = {
  issued: '0',
  redeemed: '0',
  expired: '0',
  cancelled: '0',
  restored: '0',
  imported: '0',
};

function addMovement(
  rows: Rows,
  { tenant, mode, at }: Dated,
  { unit, movement }: Pick<Moved, 'unit' | 'movement'>,
): void {
  if (Object.values(movement).every((amount) => amount === 0)) return;
  const key = { tenant, mode, day: dayOf(at), unit_key: unitKey(unit) };
  const known = dailyCredit.get(rows, tenant, mode, key.day, key.unit_key);
  const before: DailyCreditRow = known ?? { ...key, unit, ...NO_CREDIT };
  const sum = (name: keyof typeof NO_CREDIT): string =>
    String(BigInt(before[name]) + BigInt(movement[name] ?? 0));
  dailyCredit.put(rows, {
    ...key,
    unit: before.unit,
    issued: sum('issued'),
    redeemed: sum('redeemed'),
    expired: sum('expired'),
    cancelled: sum('cancelled'),
    restored: sum('restored'),
    imported: sum('imported'),
  });
}

/** The available credit of forgotten people, by unit. */
function unitsOf(
  { persons }: Pick<Erasure, 'persons'>,
  rows: Pick<Rows, 'get'>,
): readonly { readonly unit: string; readonly amount: number }[] {
  return [...persons].flatMap((person) =>
    Object.entries(creditHolders.get(rows, person)?.available ?? {}).map(([unit, amount]) => ({
      unit,
      amount,
    })),
  );
}
