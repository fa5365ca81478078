import { randomInt, randomUUID } from 'node:crypto';
import { decide as decideAccount } from '../../domain/account/account.decider.js';
import { hasRecorded } from '../../domain/account/lapse-reservation.js';
import type { NeededReservation } from '../../domain/need.js';
import { personal, type SubjectId } from '../../domain/personal.js';
import type { Refusal } from '../../domain/refusal.js';
import type { ReservationKind } from '../../domain/reservation/reservation-kind.js';
import { decide, type Holder } from '../../domain/reservation/reservation.decider.js';
import type { AccountRef } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';

/**
 * A reservation that its account has not recorded after this time may be taken over: its command is
 * most likely over.
 */
const UNRECORDED_MS = 120_000;
const CODE_LENGTH_MAX = 15;
const CANDIDATES_MAX = 60;
/** After the first few candidates a free one is looked for among so many at a time. */
const CANDIDATES_AT_ONCE = 8;

/** Something unique to be reserved: in which stream, and who is to have it. */
interface Wanted {
  readonly stream: string;
  readonly kind: ReservationKind;
  readonly key: string;
  /** With whose key it is sealed. */
  readonly subject: SubjectId;
  readonly holder: Holder;
  readonly programId: string | null;
}

/** A claim that a command has on a reservation. */
export interface Reserved {
  readonly stream: string;
  readonly claim: string;
}

/**
 * Codes and payment provider ids belong to one holder each. They are reserved before the account
 * records them.
 */
export class Reservations {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
  ) {}

  /** What is to be reserved for the account; null: a thing that is no code. */
  async reserve(
    meta: CommandMeta,
    account: AccountRef,
    what: NeededReservation['what'],
  ): Promise<(Reserved & { readonly code: string | null }) | { readonly refused: Refusal }> {
    switch (what.kind) {
      case 'code': {
        const reserved = await this.claim(meta, this.codeWanted(meta, account, what));
        return 'refused' in reserved ? reserved : { ...reserved, code: what.code };
      }
      case 'generated-code':
        return this.generate(meta, account, what);
      case 'payment-provider-id': {
        const { id, subject } = what;
        const stream = this.names.paymentProviderIdStream(meta.scope, id);
        const holder = { account, person: null };
        const wanted = {
          stream,
          kind: 'payment-provider-id',
          key: id,
          subject,
          holder,
          programId: null,
        } as const;
        const reserved = await this.claim(meta, wanted);
        return 'refused' in reserved ? reserved : { ...reserved, code: null };
      }
    }
  }

  /**
   * A free code after the name: its first 15 letters and digits; digits are added while it is
   * taken; without a name it is random.
   */
  private async generate(
    meta: CommandMeta,
    account: AccountRef,
    { name, person, programId }: Extract<NeededReservation['what'], { kind: 'generated-code' }>,
  ): Promise<Reserved & { readonly code: string }> {
    const base = name
      .replace(/[^0-9A-Za-z]/g, '')
      .slice(0, CODE_LENGTH_MAX)
      .toUpperCase();
    for (let step = 0; step < CANDIDATES_MAX;) {
      // The first ones are often free: reading ahead would only cost.
      const count = step < 2 ? 1 : CANDIDATES_AT_ONCE;
      const candidates = Array.from({ length: count }, (_, index) => candidate(base, step + index));
      step += count;
      for (const code of count === 1
        ? candidates
        : await this.freeOf(meta, candidates, { account, person })) {
        const reserved = await this.claim(
          meta,
          this.codeWanted(meta, account, { code, person, programId }),
        );
        if (!('refused' in reserved)) return { ...reserved, code };
      }
    }
    throw new Error('no free referral code was found');
  }

  /**
   * Gives back one command's claim. What other commands of the same holder claimed, and may have
   * recorded, stays reserved.
   */
  async release(meta: CommandMeta, { stream, claim }: Reserved, now: number): Promise<void> {
    await this.streams.reservations.handle(stream, asNewCommand(meta), (state) =>
      decide(state, { type: 'Release', claim, now }),
    );
  }

  /** Those that nobody had a moment ago, in the same order. */
  private async freeOf(
    meta: CommandMeta,
    codes: readonly string[],
    { account, person }: Holder,
  ): Promise<string[]> {
    const states = await Promise.all(
      codes.map((code) => this.streams.reservations.load(this.names.codeStream(meta.scope, code))),
    );
    return codes.filter((_, index) => {
      const state = states[index]?.state;
      return (
        state?.status !== 'held' ||
        (state.holder.account === account && state.holder.person === person)
      );
    });
  }

  private codeWanted(
    { scope }: CommandMeta,
    account: AccountRef,
    {
      code,
      person,
      programId,
    }: { readonly code: string; readonly person: SubjectId; readonly programId: string },
  ): Wanted {
    const holder = { account, person };
    const stream = this.names.codeStream(scope, code);
    return { stream, kind: 'referral-code', key: code, subject: person, holder, programId };
  }

  private async claim(
    meta: CommandMeta,
    wanted: Wanted,
  ): Promise<Reserved | { readonly refused: Refusal }> {
    const { stream, kind, holder, programId } = wanted;
    const key = personal(wanted.subject, wanted.key);
    const claim = randomUUID();
    const outcome = await this.streams.reservations.handle(
      stream,
      asNewCommand(meta),
      async (state) => {
        const now = Date.now();
        // Lapsed anew in every try: whoever reserves anew for the holder after that makes the
        // append of this try conflict.
        const takeOver =
          state.status === 'held' &&
          state.since < now - UNRECORDED_MS &&
          (await this.lapse(meta, state.holder, wanted));
        return decide(state, {
          type: 'Reserve',
          kind,
          key,
          holder,
          programId,
          claim,
          takeOver,
          now,
        });
      },
    );
    return outcome.kind === 'refused' ? { refused: outcome.refused } : { stream, claim };
  }

  /**
   * True: the holder has not recorded it, and no command can do so any more with a claim that is
   * there.
   */
  private async lapse(
    meta: CommandMeta,
    { account, person }: Holder,
    { kind, key }: Wanted,
  ): Promise<boolean> {
    const stream = this.names.accountStream(meta.scope, account);
    const { state } = await this.streams.accounts.load(stream);
    // Almost always: without waiting for the commands of that account.
    if (hasRecorded(state, { kind, key, person })) return false;
    const outcome = await this.streams.accounts.handle(stream, asNewCommand(meta), (now) =>
      decideAccount(now, {
        type: 'LapseReservation',
        what: { kind, key, person },
        now: Date.now(),
      }),
    );
    return outcome.kind === 'accepted' && outcome.events.length > 0;
  }
}

function candidate(base: string, step: number): string {
  if (base === '') return randomCode(10);
  if (step === 0) return base;
  // Small numbers first, they read best; then wider ones, so that the thousandth Ann does not try a
  // thousand times.
  const digits = String(
    step <= 3 ? step + 1 : randomInt(10 ** Math.min(2 + Math.floor(step / 6), 8)),
  );
  return base.slice(0, CODE_LENGTH_MAX - digits.length) + digits;
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const randomCode = (length: number): string =>
  Array.from({ length }, () => LETTERS[randomInt(LETTERS.length)]).join('');
