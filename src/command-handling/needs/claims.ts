import type { Need, NeededReservation } from '../../domain/need.js';
import type { Refusal } from '../../domain/refusal.js';
import type { AccountRef } from '../../domain/scope.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { Reservations, Reserved } from './reservations.js';

/** What became of one thing to be reserved: the code that is reserved (null for a payment provider id), or why it is not. */
export type Claimed = { readonly code: string | null } | { readonly refused: Refusal };

/**
 * What one command reserves for its account, between two tries to decide it and outside the queue of its account: a free code may take
 * many reads, and taking over a reservation waits for the queue of another account.
 */
export class Claims {
  private readonly made: Reserved[] = [];
  private readonly outcomes = new Map<string, Claimed>();

  constructor(
    private readonly reservations: Reservations,
    private readonly meta: CommandMeta,
    private readonly account: AccountRef,
  ) {}

  /** Undefined: not claimed yet, or before the account's newest lapse. */
  of(wanted: NeededReservation): Claimed | undefined {
    return this.outcomes.get(nameOf(wanted));
  }

  /** Reserves in order, up to the first that is refused. */
  async get(needs: readonly Need[]): Promise<void> {
    for (const need of needs) {
      if (need.kind !== 'reservation') continue;
      const claimed = await this.claim(need);
      const isRefused = 'refused' in claimed;
      if (!isRefused) this.made.push(claimed);
      this.outcomes.set(nameOf(need), isRefused ? claimed : { code: claimed.code });
      if (isRefused) return;
    }
  }

  /**
   * Once the command has its outcome: releases what the account did not record. Not released, by a crash or an outage, it lapses.
   * @param recorded the streams of the codes and ids that the command recorded.
   */
  async release(recorded: ReadonlySet<string>, now: number): Promise<void> {
    const unused = this.made.filter(({ stream }) => !recorded.has(stream));
    await Promise.allSettled(unused.map((reserved) => this.reservations.release(this.meta, reserved, now)));
  }

  private async claim({ what }: NeededReservation): Promise<(Reserved & { readonly code: string | null }) | { readonly refused: Refusal }> {
    const { account, meta, reservations } = this;
    switch (what.kind) {
      case 'code': {
        const { code, person, programId } = what;
        const reserved = await reservations.code(meta, code, { account, person }, programId);
        return 'refused' in reserved ? reserved : { ...reserved, code };
      }
      case 'generated-code':
        return reservations.generate(meta, what.name, { account, person: what.person }, what.programId);
      case 'payment-provider-id': {
        const reserved = await reservations.paymentProviderId(meta, what.id, { account, person: null }, what.subject);
        return 'refused' in reserved ? reserved : { ...reserved, code: null };
      }
    }
  }
}

/** The name that a generated code is made of is left out: the code is not made anew when the name changes meanwhile. */
function nameOf({ what, lapses }: NeededReservation): string {
  switch (what.kind) {
    case 'code':
      return JSON.stringify([what.kind, lapses, what.person, what.programId, what.code]);
    case 'generated-code':
      return JSON.stringify([what.kind, lapses, what.person, what.programId]);
    case 'payment-provider-id':
      return JSON.stringify([what.kind, lapses, what.subject, what.id]);
  }
}
