import { randomInt } from 'node:crypto';
import type { PersonId } from '../domain/account/account.events.js';
import { personal, type SubjectId } from '../domain/personal.js';
import { decide, type Holder, type ReservationKind } from '../domain/reservation/reservation.decider.js';
import type { Refusal } from '../domain/refusal.js';
import type { AccountRef, Scope } from '../domain/scope.js';
import type { CommandMeta } from '../event-log/envelope.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import { stepOf } from './step-of-command.js';
import type { Streams } from './streams.js';

/** A reservation that its account has not confirmed after this time is nobody's: its command is long over. */
const UNCONFIRMED_MS = 120_000;
const CODE_LENGTH_MAX = 15;
const CANDIDATES_MAX = 50;

/** Something unique to be reserved: who gets it, in which stream, and how to tell whether its present holder really has it. */
interface Claim {
  readonly stream: string;
  readonly kind: ReservationKind;
  readonly key: string;
  readonly subject: SubjectId;
  readonly holder: Holder;
  readonly programId: string | null;
}

export type Reserved = Pick<Claim, 'stream' | 'kind' | 'key' | 'holder'>;

/** Codes and payment provider ids belong to one holder each. They are reserved before the account records them. */
export class Reservations {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
  ) {}

  code(
    meta: CommandMeta,
    code: string,
    account: AccountRef,
    person: PersonId,
    programId: string,
  ): Promise<Reserved | { readonly refused: Refusal }> {
    const stream = this.names.codeStream(meta.scope, code);
    return this.reserve(meta, { stream, kind: 'referral-code', key: code, subject: person, holder: { account, person }, programId });
  }

  paymentProviderId(
    meta: CommandMeta,
    id: string,
    account: AccountRef,
    subject: SubjectId,
  ): Promise<Reserved | { readonly refused: Refusal }> {
    const stream = this.names.paymentProviderIdStream(meta.scope, id);
    const holder = { account, person: null };
    return this.reserve(meta, { stream, kind: 'payment-provider-id', key: id, subject, holder, programId: null });
  }

  /** A free code after the name: its first 15 letters and digits; digits are added while it is taken; without a name it is random. */
  async generate(
    meta: CommandMeta,
    name: string,
    account: AccountRef,
    person: PersonId,
    programId: string,
  ): Promise<{ readonly code: string; readonly reserved: Reserved }> {
    const base = name
      .replace(/[^0-9A-Za-z]/g, '')
      .slice(0, CODE_LENGTH_MAX)
      .toUpperCase();
    for (let step = 0; step < CANDIDATES_MAX; step++) {
      const code = candidate(base, step);
      const reserved = await this.code(meta, code, account, person, programId);
      if (!('refused' in reserved)) return { code, reserved };
    }
    throw new Error('no free referral code was found');
  }

  /** Gives back what the account has not recorded: the same holder may have come a second time, by another process, and recorded it. */
  async releaseUnlessRecorded(meta: CommandMeta, reserved: Reserved, now: number): Promise<void> {
    const { stream, holder } = reserved;
    if (await this.isConfirmed(meta.scope, holder, reserved)) return;
    await this.streams.reservations.handle(stream, stepOf(meta, 'release'), (state) => decide(state, { type: 'Release', holder, now }));
  }

  private async reserve(meta: CommandMeta, claim: Claim): Promise<Reserved | { readonly refused: Refusal }> {
    const { stream, kind, holder, programId } = claim;
    const key = personal(claim.subject, claim.key);
    const now = Date.now();
    const outcome = await this.streams.reservations.handle(stream, stepOf(meta, `reserve ${stream}`), async (state) => {
      const abandoned =
        state.status === 'held' && state.since < now - UNCONFIRMED_MS && !(await this.isConfirmed(meta.scope, state.holder, claim));
      return decide(state, { type: 'Reserve', kind, key, holder, programId, takeOver: abandoned, now });
    });
    if (outcome.kind === 'refused') return { refused: outcome.refused };
    return { stream, kind, key: claim.key, holder };
  }

  private async isConfirmed(scope: Scope, { account, person }: Holder, { kind, key }: Pick<Claim, 'kind' | 'key'>): Promise<boolean> {
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    // Somebody forgotten keeps the code for good: it is never given to anybody else.
    if (person !== null && state.remains.forgotten.has(person)) return true;
    if (state.status === 'absent') return false;
    const user = person === null ? undefined : state.users.get(person);
    switch (kind) {
      case 'payment-provider-id':
        return state.paymentProviderId === key;
      case 'referral-code':
        return user !== undefined && (user.profile === null || user.codes.has(key.toLowerCase()));
    }
  }
}

function candidate(base: string, step: number): string {
  if (base === '') return randomCode(10);
  if (step === 0) return base;
  // Small numbers first, they read best; then wider ones, so that the thousandth Ann does not try a thousand times.
  const digits = String(step <= 3 ? step + 1 : randomInt(10 ** Math.min(2 + Math.floor(step / 6), 8)));
  return base.slice(0, CODE_LENGTH_MAX - digits.length) + digits;
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const randomCode = (length: number): string => Array.from({ length }, () => LETTERS[randomInt(LETTERS.length)]).join('');
