import { AccountCommandEnvelope, type AccountOutcome } from '../../../command-handling/commands.js';
import type { PersonId } from '../../../domain/account/account.events.js';
import type { AccountCommand } from '../../../domain/account/account.decider.js';
import type { OpenAccount } from '../../../domain/account/account.state.js';
import { personal } from '../../../domain/personal.js';
import { reasonsOf, type Refusal, type Refused } from '../../../domain/refusal.js';
import type { Scope } from '../../../domain/scope.js';
import type { Position } from '../../../event-log/event-log.js';
import type { Core } from '../../../stores/core.js';
import type { StaffMeta } from '../../audit.js';
import type { Done } from '../../audited.js';
import { keyRefused, onceIfKeyed } from '../../operator-keys.js';
import { type Argument, NotDone } from '../../outcome.js';
import { help, text } from '../../registry/members.js';
import type { RecordingContext } from '../../registry/context.js';

/**
 * Support's actions on an account: the commands of the HTTP interface, with the operator as actor.
 * They are operations of the console alone, so they have neither a route nor a command.
 */

/** The members of a request about a user. */
export const OF_USER = {
  account: help(text, 'the id of the account'),
  user: help(text, 'the user of the account'),
};

export const SUPPORT = { roles: ['support'], isKeyed: true, examples: [] } as const;

/** A user of an account as commands see it now. @throws {NotDone} USER_NOT_FOUND */
export async function userNow(
  { names, streams }: Pick<Core, 'names' | 'streams'>,
  scope: Scope,
  { account, user }: Readonly<Record<'account' | 'user', string>>,
) {
  const accountRef = names.accountRef(scope, account);
  const stream = names.accountStream(scope, accountRef);
  const { state } = await streams.accounts.load(stream);
  const person = state.status === 'open' ? state.personsByUserId.get(user) : undefined;
  const profile =
    state.status === 'open' && person !== undefined ? state.users.get(person)?.profile : undefined;
  if (state.status !== 'open' || person === undefined || !profile)
    throw new NotDone('USER_NOT_FOUND', [`There is no user ${user} in the account ${account}.`]);
  return { accountRef, stream, state, person, profile };
}

/** The answer to an action. */
export interface Acted {
  /** Of the newest event of the action; null: nothing had to change. */
  readonly position: Position | null;
}

type Accepted = Extract<AccountOutcome, { readonly kind: 'accepted' }> & {
  readonly state: OpenAccount;
};

interface AskedOfAccount {
  readonly account: string;
  readonly user?: string | undefined;
  readonly [member: string]: unknown;
}

interface AccountAction<T extends object> {
  /** The request, which a form's key must always come with. */
  readonly asked: AskedOfAccount;
  readonly command: AccountCommand;
  /** Further members of the answer. */
  readonly result?: (outcome: Accepted) => T;
  /** Further members of the audit event: no personal data. */
  readonly parameters?: Done<unknown>['parameters'];
  readonly reason?: string | undefined;
  /** Throws a refusal; not called when the key's form was sent before. */
  readonly check?: () => Promise<void>;
}

/**
 * Sends an operator's command to an account, once for each key of a form. @throws {NotDone} its
 * refusal.
 */
export async function actOnAccount<T extends object = object>(
  { core, meta, keyed }: RecordingContext,
  { asked, command, result, parameters, reason, check }: AccountAction<T>,
): Promise<Done<Acted & T>> {
  const { names } = core;
  const once = { meta, asked, keyed };
  const { done, replayed } = await onceIfKeyed(names, once, async (keyedMeta) => {
    await check?.();
    const outcome = await sentToAccount(core, keyedMeta, asked, command);
    const { position } = outcome;
    const person = personOf(outcome);
    const acted = { position, ...(result?.(outcome) as T) };
    return { done: { acted, person }, replayed: outcome.replayed };
  });
  const { acted, person } = done;
  return {
    result: acted,
    parameters: {
      ...namedIn(core, meta.scope, asked),
      ...parameters,
      repeated: replayed || undefined,
    },
    completed: `${meta.causationId} is done`,
    ...reasonAbout(person, reason),
  };
}

/** The account and the user of a request, as audit events name them. */
export function namedIn({ names }: Pick<Core, 'names'>, scope: Scope, asked: AskedOfAccount) {
  const account = names.accountRef(scope, asked.account);
  const user = asked.user === undefined ? undefined : names.userRef(scope, account, asked.user);
  return { account, user };
}

export const reasonAbout = (person: PersonId | undefined, reason: string | undefined) =>
  reason === undefined || person === undefined ? {} : { reason: personal(person, reason) };

/** @throws {NotDone} its refusal. */
export async function sentToAccount(
  { commands, names }: Pick<Core, 'commands' | 'names'>,
  meta: StaffMeta,
  asked: AskedOfAccount,
  command: AccountCommand,
): Promise<Accepted> {
  const account = names.accountRef(meta.scope, asked.account);
  const outcome = await commands.execute(new AccountCommandEnvelope(meta, account, command));
  if (outcome.kind === 'refused') throw notActed(outcome, asked);
  return outcome as Accepted;
}

/** The person that the events are about; undefined: nothing changed. */
export function personOf({ events }: Accepted): PersonId | undefined {
  const about = events.find((event) => 'person' in event);
  return about !== undefined && 'person' in about ? about.person : undefined;
}

/** What a refusal is about, as a form names it. */
const ABOUT: ReadonlyMap<Refusal, readonly Argument[]> = new Map<Refusal, readonly Argument[]>([
  ['AMOUNT_TOO_LARGE', ['amount']],
  ['CURRENCY_DIFFERS', ['unit']],
  ['REWARD_DATES_INVALID', ['expires']],
]);

function notActed(refusal: Refused, asked: AskedOfAccount): NotDone {
  const { refused } = refusal;
  if (refused === 'IDEMPOTENCY_KEY_REUSED') return keyRefused(refused);
  const lines: Readonly<Partial<Record<Refusal, string>>> = {
    ACCOUNT_NOT_FOUND: `There is no account ${asked.account}.`,
    USER_NOT_FOUND: `There is no user ${asked.user ?? ''} in the account ${asked.account}.`,
    USER_ALREADY_BLOCKED: 'The user is blocked already.',
    USER_NOT_BLOCKED: 'The user is not blocked.',
    REWARD_NOT_FOUND: 'There is no such reward in this account.',
    REWARD_NOT_CANCELLABLE:
      'The reward cannot be cancelled: some of it is redeemed, it was granted as not cancellable, or the payment provider pays it.',
    REWARD_DATES_INVALID: 'The expiry must lie in the future.',
    AMOUNT_TOO_LARGE: 'The account cannot hold so much credit: grant less.',
    DO_NOT_TRACK: 'This person is refused: the user id cannot be registered again.',
  };
  const line = lines[refused];
  return new NotDone(refused, line === undefined ? reasonsOf(refusal) : [line], ABOUT.get(refused));
}
