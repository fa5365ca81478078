import { deterministicId } from '../src/command-handling/deterministic-id.js';
import type { AccountEvent } from '../src/domain/account/account.events.js';
import type { Scope } from '../src/domain/scope.js';
import type { Decoded } from '../src/event-log/codec.js';
import { accountRefOf, type KeyedNames } from '../src/privacy/keyed-names.js';
import type { MailType } from '../src/themes/theme-instance.js';
import { isTestAddress } from './mail-people.js';
import { MAIL_HOST, unsubscribing } from './mailing.js';
import type { TracedAccount } from './promises.js';
import type { SharedStores } from './service.js';
import type { TakenMail } from './simulated-mail-server.js';
import type { SimulatedMail } from './simulated-mails.js';

interface Told {
  readonly log: readonly Decoded[];
  readonly lost: readonly Decoded[];
  readonly accounts: ReadonlyMap<string, TracedAccount>;
  readonly scope: Scope;
  readonly names: KeyedNames;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly mayEventsBeOld: boolean;
}

/** A mail that an event calls for. */
interface CalledFor {
  readonly id: string;
  readonly messageId: string;
  readonly type: MailType;
  readonly account: string;
  readonly person: string;
  readonly cause: Decoded;
}

/** When the staff switched a type on first. */
interface Switched {
  readonly since: number;
  /** The latest time at which they did: the clock may have been set back meanwhile. */
  readonly latest: number;
  /** Nobody switched it off. */
  readonly isSteady: boolean;
}

/**
 * Mails at rest: each was taken at most once and called for by an event, none was sent to somebody
 * who was gone, blocked or unsubscribed when it was claimed, none waits, none is missing.
 */
export function brokenMails(shared: SharedStores, told: Told): string[] {
  const { mails, mailServer } = shared;
  const switched = switchedBy(told);
  const called = calledFor(told);
  const byId = new Map([...called.values()].map((mail) => [mail.id, mail]));
  const taken = new Map<string, number>();
  for (const { messageId } of mailServer.taken)
    taken.set(messageId, (taken.get(messageId) ?? 0) + 1);
  return [
    ...[...taken].flatMap(([messageId, count]) =>
      count > 1 ? [`${nameOf(called.get(messageId))} was taken ${count} times`] : [],
    ),
    ...mailServer.taken.flatMap((mail) =>
      brokenTaken(mail, called.get(mail.messageId), { shared, told, switched }),
    ),
    ...[...mails.rows.values()].flatMap((row) =>
      brokenRow(row, byId.get(row.id), { taken, told, switched }),
    ),
    ...missing(byId, shared, { told, switched }),
  ];
}

const nameOf = (mail: CalledFor | undefined): string =>
  mail === undefined ? 'an unknown mail' : `${mail.type} to ${mail.person} (${mail.id})`;

function switchedBy({ log, lost, scope, names }: Told): ReadonlyMap<string, Switched> {
  const stream = names.tenantStream(scope.tenant);
  // Those that are lost were in force, too.
  const settings = [...lost, ...log].flatMap(({ event, recorded }) =>
    recorded.stream === stream && event.type === 'MailSettingsChanged' ? [event] : [],
  );
  const types = new Set(settings.flatMap((each) => each.types));
  return new Map(
    [...types].map((type) => {
      const on = settings.filter((each) => each.types.includes(type));
      const times = on.map(({ at }) => at);
      const [since, latest] = [Math.min(...times), Math.max(...times)];
      return [type, { since, latest, isSteady: on.length === settings.length }] as const;
    }),
  );
}

/** By their `Message-ID`. */
function calledFor({ log, lost, names }: Told): ReadonlyMap<string, CalledFor> {
  const called = new Map<string, CalledFor>();
  for (const cause of [...lost, ...log]) {
    if (accountRefOf(cause.recorded.stream) === undefined) continue;
    const { id: eventId } = cause.recorded;
    for (const [type, account, person] of recipientsOf(cause)) {
      const digest = names.digest('mail', eventId, person, type).slice(0, 40);
      const messageId = `${digest}@${MAIL_HOST}`;
      const id = deterministicId(eventId, `mail ${type} ${person}`);
      called.set(messageId, { id, messageId, type, account, person, cause });
    }
  }
  return called;
}

type Recipient = readonly [type: MailType, account: string, person: string];

/** Who is told of an event, without a look at the policy. */
function recipientsOf(cause: Decoded): readonly Recipient[] {
  const own = accountRefOf(cause.recorded.stream) ?? '';
  const event = cause.event as AccountEvent;
  switch (event.type) {
    case 'ReferralStarted': {
      const { referrer, referred, referrerStatus, referredStatus } = event;
      const told: readonly (Recipient | undefined)[] = [
        referrerStatus === 'DENIED'
          ? undefined
          : ['REFERRAL_STARTED', referrer.account, referrer.person],
        referredStatus === 'DENIED' ? undefined : ['WELCOME', own, referred.person],
      ];
      return told.filter((one) => one !== undefined);
    }
    case 'ReferralConverted':
      return event.referrerStatus === 'DENIED'
        ? []
        : [['REFERRAL_CONVERTED', event.referrer.account, event.referrer.person]];
    case 'RewardGranted': {
      const earned: Recipient = ['REWARD_EARNED', own, event.person];
      return event.dateExpires === null
        ? [earned]
        : [earned, ['REWARD_EXPIRES_SOON', own, event.person]];
    }
    case 'RewardWithheld': {
      const { reason, referralId, person } = event;
      const isReferrers = referralId !== null && !referralId.startsWith(own);
      return reason === 'LIMIT_REACHED' && isReferrers
        ? [['REFERRER_REWARD_LIMIT_REACHED', own, person]]
        : [];
    }
    default:
      return [];
  }
}

function brokenTaken(
  { to, unsubscribeUrl }: TakenMail,
  mail: CalledFor | undefined,
  of: {
    readonly shared: SharedStores;
    readonly told: Told;
    readonly switched: ReadonlyMap<string, Switched>;
  },
): string[] {
  const { told, shared, switched } = of;
  if (mail === undefined) return ['a mail that no event calls for was taken'];
  const { type, account, person, cause } = mail;
  const { since } = switched.get(type) ?? { since: Infinity };
  const events = told.accounts.get(account)?.events ?? [];
  const within = { events, positions: shared.log.positions, person };
  const from = shared.mails.claimedAt.get(mail.id) ?? 0n;
  const end = shared.mails.begunAt.get(mail.id) ?? from;
  // What was there when it was claimed may be lost since.
  const isWhole = told.lost.length === 0;
  const because = isWhole ? unwantedAllThe(within, from, end) : undefined;
  const addresses = isWhole ? addressesOf(events, person) : undefined;
  const token = unsubscribeUrl?.split('/').at(-1) ?? '';
  const recipient = unsubscribing(told.names).recipientOf(token);
  const broken = [
    cause.recorded.recordedAt < since ? 'is of before its type was switched on' : undefined,
    because === undefined ? undefined : `went to somebody who ${because}`,
    addresses?.includes(to) === false ? `went to ${to}, of somebody else` : undefined,
    told.scope.mode === 'test' && !isTestAddress(to) ? `went to ${to} in the test mode` : undefined,
    recipient?.account === account && recipient.person === person
      ? undefined
      : 'unsubscribes somebody else',
  ];
  return broken.flatMap((what) => (what === undefined ? [] : [`${nameOf(mail)} ${what}`]));
}

/** Why a person was told nothing at any moment between two positions: one may be unblocked. */
function unwantedAllThe(
  of: {
    readonly events: readonly Decoded[];
    readonly positions: SharedStores['log']['positions'];
    readonly person: string;
  },
  from: bigint,
  end: bigint,
): string | undefined {
  const { events, positions, person } = of;
  const places = events.map(({ recorded }) => positions.number(recorded.position));
  const reasons = [from, ...places.filter((place) => place > from && place <= end)].map((moment) =>
    unwanted(events.slice(0, places.filter((place) => place <= moment).length), person),
  );
  return reasons.includes(undefined) ? undefined : reasons[0];
}

/** Why a person is told nothing, by the events of the account so far. */
function unwanted(events: readonly Decoded[], person: string): string | undefined {
  let [isKnown, isBlocked, isUnsubscribed] = [false, false, false];
  for (const decoded of events) {
    const event = decoded.event as AccountEvent;
    if (event.type === 'ErasureRequested') {
      if (event.account !== null || event.persons.includes(person)) isKnown = false;
      continue;
    }
    if (!('person' in event) || event.person !== person) continue;
    if (event.type === 'UserIdentified') isKnown = true;
    if (event.type === 'UserBlocked') isBlocked = true;
    if (event.type === 'UserUnblocked') isBlocked = false;
    if (event.type === 'MailsUnsubscribed') isUnsubscribed = true;
  }
  if (!isKnown) return 'is forgotten';
  return isBlocked ? 'is blocked' : isUnsubscribed ? 'has unsubscribed' : undefined;
}

/** Undefined: the person is forgotten by now. */
function addressesOf(events: readonly Decoded[], person: string): readonly string[] | undefined {
  const addresses: string[] = [];
  for (const decoded of events) {
    const event = decoded.event as AccountEvent;
    if (event.type !== 'UserIdentified' && event.type !== 'UserProfileChanged') continue;
    if (event.person !== person) continue;
    const { value } = event.type === 'UserIdentified' ? event.profile : event.changes;
    if (value === null) return undefined;
    if (value.email) addresses.push(value.email);
  }
  return addresses;
}

function brokenRow(
  row: SimulatedMail,
  mail: CalledFor | undefined,
  of: {
    readonly taken: ReadonlyMap<string, number>;
    readonly told: Told;
    readonly switched: ReadonlyMap<string, Switched>;
  },
): string[] {
  if (mail === undefined) return [`the mail ${row.id} was planned, and no event calls for it`];
  const { told, taken, switched } = of;
  const { state, dueAt, endedAt, reason } = row;
  const waits = endedAt === null && (state !== 'PENDING' || dueAt === null || dueAt <= told.now);
  const isTaken = taken.has(mail.messageId);
  const isWrong = reason !== null && !isTrue(reason, mail, { told, switched });
  return [
    ...(waits ? [`${nameOf(mail)} waits for ever: ${state} ${reason ?? ''}`] : []),
    ...(isTaken && (state === 'PENDING' || state === 'DEAD')
      ? [`${nameOf(mail)} was taken, and is ${state}: ${reason ?? ''}`]
      : []),
    ...(!isTaken && state === 'DELIVERED' ? [`${nameOf(mail)} was never taken`] : []),
    ...(isWrong ? [`${nameOf(mail)} is ${state} without reason: ${reason}`] : []),
  ];
}

/** Whether what is said of a person ever was. */
function isTrue(
  reason: string,
  { type, account, person }: CalledFor,
  { told, switched }: { readonly told: Told; readonly switched: ReadonlyMap<string, Switched> },
): boolean {
  // The account is another one since then.
  if (told.lost.length > 0) return true;
  const events = (told.accounts.get(account)?.events ?? []).map(
    ({ event }) => event as AccountEvent,
  );
  const has = (known: AccountEvent['type']): boolean =>
    events.some((event) => event.type === known && 'person' in event && event.person === person);
  switch (reason) {
    case 'not sent: the person is forgotten':
      return events.some(
        (event) =>
          event.type === 'ErasureRequested' &&
          (event.account !== null || event.persons.includes(person)),
      );
    case 'not sent: the person is blocked':
      return has('UserBlocked');
    case 'not sent: the person has unsubscribed':
      return has('MailsUnsubscribed');
    case 'not sent: the address is not one that the test mode may send to':
      return told.scope.mode === 'test';
    case 'not sent: the type is switched off':
    case 'not sent: the type was switched off since':
      return switched.get(type)?.isSteady !== true;
    case 'not sent: the log no longer has the event':
    case 'not sent: the person has no usable e-mail address':
      return false;
    default:
      return true;
  }
}

/** Mails that nobody planned although their type was on all the time. */
function missing(
  called: ReadonlyMap<string, CalledFor>,
  { mails }: SharedStores,
  { told, switched }: { readonly told: Told; readonly switched: ReadonlyMap<string, Switched> },
): string[] {
  // Behind a loss it is not looked for: docs/simulator.md, what is not simulated.
  if (told.mayEventsBeOld || told.lost.length > 0) return [];
  const gone = new Set(told.lost.map(({ recorded }) => recorded.id));
  return [...called.values()].flatMap((mail) => {
    const { latest, isSteady } = switched.get(mail.type) ?? { latest: Infinity, isSteady: false };
    const { id, recordedAt } = mail.cause.recorded;
    const isOwed = isSteady && recordedAt >= latest && !gone.has(id);
    return isOwed && !mails.rows.has(mail.id) ? [`${nameOf(mail)} was never planned`] : [];
  });
}
