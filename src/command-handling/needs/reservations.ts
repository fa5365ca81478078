import type { NeededReservation } from '../../domain/need.js';
import { personal, type SubjectId } from '../../domain/personal.js';
import type { Refusal } from '../../domain/refusal.js';
import type { ReservationKind } from '../../domain/reservation/reservation-kind.js';
import {
  decide,
  type Holder,
  type ReservationState,
} from '../../domain/reservation/reservation.decider.js';
import type { AccountRef } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import { randomBelow, newId, timeNow } from '../../foundation/world.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';
import { lapse } from './lapse.js';

/** From this age on, a reservation without a record in its account may be taken over. */
const UNRECORDED_MS = 120_000;
const CODE_LENGTH_MAX = 15;
const CANDIDATES_MAX = 60;

interface ReservationRequest {
  readonly stream: string;
  readonly kind: ReservationKind;
  readonly key: string;
  /** Names the key that seals the value. */
  readonly subject: SubjectId;
  readonly holder: Holder;
  readonly programId: string | null;
}

/** Whether the code is excluded from generated ones. */
export type KeepsCode = (code: string) => boolean;

/** A command's claim on a reservation. */
export interface ReservationClaim {
  readonly stream: string;
  readonly claim: string;
}

/** Reserves codes and payment provider ids before their account records them. */
export class Reservations {
  constructor(
    private readonly streams: Streams,
    private readonly names: KeyedNames,
  ) {}

  /** `code` is null for a payment provider id. */
  async reserve(
    meta: CommandMeta,
    account: AccountRef,
    what: NeededReservation['what'],
    keepsCode: KeepsCode = () => false,
  ): Promise<
    (ReservationClaim & { readonly code: string | null }) | { readonly refused: Refusal }
  > {
    switch (what.kind) {
      case 'code': {
        const reserved = await this.claim(meta, this.codeReservation(meta, account, what));
        return 'refused' in reserved ? reserved : { ...reserved, code: what.code };
      }
      case 'generated-code':
        return this.generate(meta, account, what, keepsCode);
      case 'payment-provider-id': {
        const { id, subject } = what;
        const stream = this.names.paymentProviderIdStream(meta.scope, id);
        const holder = { account, person: null };
        const request = {
          stream,
          kind: 'payment-provider-id',
          key: id,
          subject,
          holder,
          programId: null,
        } as const;
        const reserved = await this.claim(meta, request);
        return 'refused' in reserved ? reserved : { ...reserved, code: null };
      }
    }
  }

  /** A free code from 15 characters of the name, with digits if taken; random without a name. */
  private async generate(
    meta: CommandMeta,
    account: AccountRef,
    { name, person, programId }: Extract<NeededReservation['what'], { kind: 'generated-code' }>,
    keepsCode: KeepsCode,
  ): Promise<ReservationClaim & { readonly code: string }> {
    const base = name
      .replace(/[^0-9A-Za-z]/g, '')
      .slice(0, CODE_LENGTH_MAX)
      .toUpperCase();
    for (let step = 0; step < CANDIDATES_MAX; step += 1) {
      const code = candidate(base, step);
      if (keepsCode(code)) continue;
      const reservation = this.codeReservation(meta, account, { code, person, programId });
      const reserved = await this.claim(meta, reservation);
      if (!('refused' in reserved)) return { ...reserved, code };
    }
    throw new Error('no free referral code was found');
  }

  /** Releases one claim. Claims of other commands of the same holder stay. */
  async release(
    meta: CommandMeta,
    { stream, claim }: ReservationClaim,
    now: number,
  ): Promise<void> {
    await this.streams.reservations.handle(stream, asNewCommand(meta), (state) =>
      decide(state, { type: 'Release', claim, now }),
    );
  }

  private codeReservation(
    { scope }: CommandMeta,
    account: AccountRef,
    {
      code,
      person,
      programId,
    }: { readonly code: string; readonly person: SubjectId; readonly programId: string },
  ): ReservationRequest {
    const holder = { account, person };
    const stream = this.names.codeStream(scope, code);
    return { stream, kind: 'referral-code', key: code, subject: person, holder, programId };
  }

  private async claim(
    meta: CommandMeta,
    request: ReservationRequest,
  ): Promise<ReservationClaim | { readonly refused: Refusal }> {
    const { stream, kind, holder, programId } = request;
    const key = personal(request.subject, request.key);
    const claim = newId();
    const outcome = await this.streams.reservations.handle(
      stream,
      asNewCommand(meta),
      async (state) => {
        const now = timeNow();
        // The lapse is repeated on each try: if the holder reserves again in between, this append
        // conflicts and is retried.
        const takeOver =
          state.status === 'held' &&
          (await this.isOld(meta, state, request, now)) &&
          (await this.lapse(meta, state.holder, request));
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
   * Old enough that the reserving command must have ended. For the payment provider id of a deleted
   * account: immediately.
   */
  private async isOld(
    { scope }: CommandMeta,
    { holder, since }: Extract<ReservationState, { status: 'held' }>,
    request: ReservationRequest,
    now: number,
  ): Promise<boolean> {
    if (since < now - UNRECORDED_MS) return true;
    if (request.kind !== 'payment-provider-id' || holder.account === request.holder.account)
      return false;
    const stream = this.names.accountStream(scope, holder.account);
    const { state } = await this.streams.accounts.load(stream);
    if (state.remains.forgotten.size === 0) return false;
    return state.status === 'absent' || state.users.every(({ dateCreated }) => dateCreated > since);
  }

  private lapse(
    meta: CommandMeta,
    { account, person }: Holder,
    { kind, key }: ReservationRequest,
  ): Promise<boolean> {
    const stream = this.names.accountStream(meta.scope, account);
    const what = { kind, key, person };
    return lapse(this.streams, stream, meta, { what, clock: timeNow });
  }
}

function candidate(base: string, step: number): string {
  if (base === '') return randomCode(10);
  if (step === 0) return base;
  // Small numbers read best and come first; wider ones spare the thousandth Ann a thousand tries.
  const digits = String(
    step <= 3 ? step + 1 : randomBelow(10 ** Math.min(2 + Math.floor(step / 6), 8)),
  );
  return base.slice(0, CODE_LENGTH_MAX - digits.length) + digits;
}

const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const randomCode = (length: number): string =>
  Array.from({ length }, () => LETTERS[randomBelow(LETTERS.length)]).join('');
