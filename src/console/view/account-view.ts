import { partyCell } from '../pages/customer-columns.js';
import { queryOf } from '../pages/tenant-pages.js';
import type {
  AccountHistory,
  ShownPerson,
  ShownReward,
} from '../../operations/accounts/account-history.js';
import type { Block } from '../../operations/accounts/block-reasons.js';
import type { ReferralsMade } from '../../operations/accounts/account-referrals.js';
import type { TenantCall } from '../console-call.js';
import { amountCell, idCell, stateCell, textCell, timeCell } from './cells.js';
import type { ShownAmount } from './shown-amounts.js';
import { stateView } from './states.js';
import { column, wholeTable, type TableColumn } from './table.js';
import { capital } from './templates.js';

/** How the tables of an account are shown. */
interface Shown {
  readonly call: TenantCall;
  /** Of the account's page. */
  readonly path: string;
  readonly amounts: ShownAmount;
  readonly showsPersonal: boolean;
  /** Actions are offered. */
  readonly isSupport: boolean;
}

const FIGURES = ['available', 'pending', 'assigned', 'redeemed', 'expired', 'cancelled'] as const;
/** Shown with a minus sign. */
const TAKEN: ReadonlySet<string> = new Set(['redeemed', 'expired', 'cancelled']);

/** Name, state and codes of an account. */
export function headerView({ people, isOpen, state, eventCount }: AccountHistory) {
  const [first, second] = people;
  const word = isOpen ? (state ?? 'Trial') : eventCount === 0 ? 'Not opened yet' : 'Forgotten';
  const isBlocked = people.some(({ blockedSince }) => blockedSince !== null);
  return {
    name: first?.userId ? namesOf(first, second, people.length - 1) : null,
    state: stateView(word),
    blocked: isBlocked ? stateView('Blocked') : null,
    codes: people.flatMap(({ codes }) => codes.slice(-1)).slice(0, 3),
  };
}

/** `Jana Frank and Ben Rossi`, `Jana Frank and 3 others`. */
const namesOf = (first: ShownPerson, second: ShownPerson | undefined, others: number): string =>
  second === undefined
    ? first.name
    : `${first.name} and ${others === 1 ? second.name : `${others} others`}`;

/** The timeline with the reasons of blocks, and the newest three that hold. */
export function blocksView(
  { people, events }: AccountHistory,
  blocks: ReadonlyMap<string, Block>,
  showsPersonal: boolean,
) {
  const reasonOf = (block: Block | undefined) => (showsPersonal ? block?.reason : null) ?? null;
  return {
    blocks: people
      .filter(({ blockedSince }) => blockedSince !== null)
      .slice(-3)
      .map(({ person, name, blockedSince: since }) => {
        const block = [...blocks.values()].find(
          (one) => one.person === person && new Date(one.at).toISOString() === since,
        );
        const shown = showsPersonal ? name : capital(name);
        return { name: shown, since, by: block?.by, reason: reasonOf(block) };
      }),
    events: events.map((event) => ({ ...event, reason: reasonOf(blocks.get(event.eventId)) })),
  };
}

/** The balances of each unit; figures have the values of `--json`. */
export const unitViews = ({ units, currency }: AccountHistory, amounts: ShownAmount) =>
  units.map((unit) => ({
    unit: unit.unit,
    /** Named where its amounts are no money. */
    suffix: amounts(0, unit.unit, currency).endsWith(unit.unit) ? `, ${unit.unit}` : '',
    figures: FIGURES.map((name) => {
      const value = unit[name];
      const shown = TAKEN.has(name) ? -value : value;
      return {
        label: capital(name),
        name: `${name}:${unit.unit}`,
        value,
        text: amounts(shown === 0 ? 0 : shown, unit.unit, currency),
      };
    }),
  }));

export function peopleTable({ people }: AccountHistory, { path, isSupport, showsPersonal }: Shown) {
  const columns: readonly TableColumn<ShownPerson>[] = [
    column('name', (one) => textCell(one.name, { note: showsPersonal ? one.email : null })),
    column(['user', 'User id', 'minor'], ({ userId }) => idCell(userId)),
    column(['codes', 'minor'], ({ codes, codesLeft }) =>
      textCell(codes.join(', ') || null, {
        note: codesLeft > 0 ? `and ${codesLeft} more` : null,
      }),
    ),
    column('state', ({ blockedSince }) => stateCell(blockedSince === null ? 'Active' : 'Blocked')),
    column(['since', 'minor'], ({ since }) => timeCell(since)),
    ...(isSupport
      ? ['Edit', 'Block', 'Forget'].map((label) =>
          column([label, ''], ({ userId, blockedSince }: ShownPerson) =>
            actionCell(path, label, userId, blockedSince),
          ),
        )
      : []),
  ];
  return wholeTable(people, columns, { label: 'People', empty: 'This account has no users.' });
}

/** A link to the form of an action on a user. */
function actionCell(path: string, label: string, user: string | null, blocked: string | null) {
  if (user === null) return textCell(null);
  const word = label === 'Block' && blocked !== null ? 'Unblock' : label;
  return textCell(word, { path: `${path}${queryOf({ action: word.toLowerCase(), user })}#action` });
}

const SOURCES = {
  REFERRED: 'Reward of the referred side',
  FRIEND_SIGNUP: 'Reward for a referral',
  EVENT: 'Reward for an event',
  MANUAL: 'Granted by hand',
} as const;

export function rewardsTable(
  { rewards, currency }: AccountHistory,
  { path, amounts, isSupport }: Shown,
) {
  const amount = (value: number | null, row: ShownReward) =>
    amountCell(value, amounts(value, row.unit, row.currency ?? currency));
  const columns: readonly TableColumn<ShownReward>[] = [
    column(['owner', 'Reward'], (row) =>
      textCell(row.name ?? SOURCES[row.source], { note: row.owner }),
    ),
    column('granted', (row) =>
      row.percent === null
        ? amount(row.granted, row)
        : amountCell(row.percent, `${row.percent}% off`),
    ),
    column(['redeemed', 'minor'], (row) =>
      amount(row.redeemed === null ? null : 0 - row.redeemed, row),
    ),
    column(['left', 'minor'], (row) => amount(row.left, row)),
    column('state', (row) =>
      row.state === 'Expired' && row.redeemed
        ? stateCell(
            row.state,
            `${amounts(row.redeemed, row.unit, row.currency ?? currency)} redeemed`,
          )
        : stateCell(row.state),
    ),
    column(['given', 'Granted on', 'minor'], (row) => timeCell(row.givenAt)),
    column(['expires', 'minor'], (row) => timeCell(row.expiresAt)),
    column(['id', 'minor'], (row) => idCell(row.rewardId)),
    ...(isSupport ? [cancelColumn(path)] : []),
  ];
  const newestFirst = [...rewards].sort((a, b) => (a.givenAt < b.givenAt ? 1 : -1));
  return wholeTable(newestFirst, columns, {
    label: 'Rewards',
    empty: 'This account has no rewards. A program or an operator of support grants them.',
  });
}

const cancelColumn = (path: string): TableColumn<ShownReward> =>
  column(['cancel', ''], ({ rewardId, isCancellable, redeemed }) =>
    isCancellable && !redeemed
      ? textCell('Cancel reward', {
          path: `${path}${queryOf({ action: 'cancel', reward: rewardId })}#action`,
        })
      : textCell(''),
  );

/** The referrals that the people of the account made. */
export function madeTable({ rows, total }: ReferralsMade, tenantPath: string) {
  const columns: readonly TableColumn<ReferralsMade['rows'][number]>[] = [
    column(['referred', 'Friend'], ({ referred }) => partyCell(tenantPath, referred)),
    column('state', ({ state }) => stateCell(state)),
    column(['moderation', 'minor'], ({ referrerModeration }) => stateCell(referrerModeration)),
    column(['code', 'minor'], ({ code }) => textCell(code)),
    column(['started', 'minor'], ({ started }) => timeCell(started)),
    column(['converted', 'minor'], ({ converted }) => timeCell(converted)),
  ];
  return {
    total,
    isCut: rows.length < total,
    table: wholeTable(rows, columns, {
      label: 'Referrals made',
      empty: 'No one has signed up with a code of this account yet.',
    }),
  };
}
