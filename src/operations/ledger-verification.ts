import { breakOf, divergence, type ChainBreak, type Divergence, type FoundEvent } from '../chain/chain-break.js';
import { CHAIN_START, markOf, nextLink, type ChainLink } from '../chain/chain-link.js';
import { ChainNames } from '../chain/chain-names.js';
import { ChainSealing } from '../chain/chain-sealing.js';
import { ChainSeals, sealText, type StoredSeal } from '../chain/chain-seals.js';
import type { ChainSigner } from '../chain/chain-signer.js';
import { isAuthentic, type DigestDocument } from '../chain/digest-document.js';
import type { Core } from '../core.js';
import type { Scope } from '../domain/scope.js';
import type { Position, RecordedEvent } from '../event-log/event-log.js';
import { LogReader, Stopped, type Patience } from './log-reader.js';

export type VerifyPhase = 'sealing' | 'verifying';

export interface VerificationOptions extends Patience {
  readonly scope: Scope;
  /** What `ledger digest` said some time ago, of the same tenant and mode. */
  readonly outside?: DigestDocument | undefined;
  /** `events` of the whole log; `total` is not known while sealing. */
  readonly onProgress?: (phase: VerifyPhase, events: number, total: number | undefined) => void;
}

/** What a verification came to; the JSON of `ledger verify`. */
export interface Verification extends Scope {
  readonly ok: boolean;
  readonly log: string;
  /** Events of the chain that were recomputed. */
  readonly events: number;
  /** Of the last of them; null: the chain has none. */
  readonly position: Position | null;
  /** Of the recomputed chain, in hex: what `ledger digest` says when the chain is whole. */
  readonly digest: string;
  readonly seals: number;
  readonly firstBroken: ChainBreak | null;
}

/**
 * Seals what is not sealed yet, then recomputes the chain of one tenant and mode from the first event of the log and compares it with every seal,
 * and with a digest from outside. Stops at the first break. Memory: the events under one seal.
 * @throws {Stopped} {EventLogUnavailable}
 */
export async function verifyLedger(
  core: Pick<Core, 'pool' | 'log' | 'names' | 'chainSigner'>,
  options: VerificationOptions,
): Promise<Verification> {
  const { pool, log, names, chainSigner: signer } = core;
  const { scope, outside, signal, onProgress } = options;
  const chains = new ChainNames(names);
  const seals = new ChainSeals(pool, await log.id());
  const sealing = new ChainSealing({ pool, log, chains, signer });
  const { checkpoint } = await sealing.sealToHead({ signal, onProgress: (events) => onProgress?.('sealing', events, undefined) });
  if (signal.aborted) throw new Stopped();
  const reader = new LogReader(log, options, checkpoint.position ?? null);
  // One that is not as it was signed says nothing about the log.
  const isOutsideAuthentic = outside === undefined || isAuthentic(outside, signer);
  const check = new ChainCheck(seals, chains.of(scope), signer, isOutsideAuthentic ? outside : undefined);
  const isOwn = chains.membership(scope);
  await check.begin();
  for (;;) {
    const page = await reader.ahead();
    if (page.length === 0) break;
    for (const event of page) {
      if (isOwn(event.stream) && check.add(event)) await check.compare();
      if (check.isBroken) break;
    }
    // A page with a break in it is looked through again for what became of the event.
    if (check.isBroken) break;
    reader.take(page.length);
    if (signal.aborted) throw new Stopped();
    onProgress?.('verifying', reader.count, checkpoint.events);
  }
  await check.end(reader, isOwn);
  const { link, seals: compared } = check;
  const { events, position, digest } = link;
  const isForged = !isOutsideAuthentic && !check.isBroken;
  const firstBroken = isForged ? ({ position: outside.position, eventId: null, reason: 'digest-signature' } as const) : check.firstBroken;
  return { ok: firstBroken === null, ...scope, log: seals.logId, events, position, digest, seals: compared, firstBroken };
}

/** A chain as it is recomputed, beside its seals. */
class ChainCheck {
  link: ChainLink = CHAIN_START;
  seals = 0;
  firstBroken: ChainBreak | null = null;
  private diverged: Divergence | undefined;
  private rest: AsyncGenerator<StoredSeal, void, undefined>;
  private next: StoredSeal | undefined;
  private last: StoredSeal | undefined;
  /** Events since the last seal, as far as the next one has something to say about them; without a next one only the first. */
  private found: FoundEvent[] = [];
  private foundFrom = 0;
  private outsideBreak: ChainBreak | null = null;

  constructor(
    private readonly stored: ChainSeals,
    private readonly chain: string,
    private readonly signer: ChainSigner,
    private readonly outside: DigestDocument | undefined,
  ) {
    this.rest = stored.all(chain);
  }

  get isBroken(): boolean {
    return this.firstBroken !== null;
  }

  async begin(): Promise<void> {
    await this.advance();
  }

  /** True when something is to be compared behind this event. */
  add(event: RecordedEvent): boolean {
    this.link = nextLink(this.link, event);
    const { events } = this.link;
    if (events > this.foundFrom && (this.next !== undefined || this.found.length === 0))
      this.found.push({ id: event.id, position: event.position, mark: markOf(this.link) });
    return events === this.next?.events || events === this.outside?.events;
  }

  async compare(): Promise<void> {
    const { link, next, outside } = this;
    if (outside?.events === link.events) this.outsideBreak = this.compareOutside(outside);
    if (next?.events !== link.events) return;
    this.seals += 1;
    if (isSame(link, next)) {
      // The seal agrees with the log, so no seal will say more exactly what the digest from outside says.
      this.firstBroken = this.outsideBreak;
      return this.advance();
    }
    this.diverged = divergence(await this.stored.eventsUnder(next), this.found);
    this.firstBroken = { position: next.position, eventId: null, reason: 'changed' };
  }

  /** The log is at its end, or the chain broke. */
  async end(reader: LogReader, isOwn: (stream: string) => boolean): Promise<void> {
    const { next, found, outside, link } = this;
    if (this.firstBroken === null && next !== undefined) {
      this.firstBroken = { position: next.position, eventId: null, reason: 'removed' };
      this.diverged = divergence(await this.stored.eventsUnder(next), found);
    } else if (this.firstBroken === null && found[0] !== undefined) {
      const { id, position } = found[0];
      // Everything up to the checkpoint was sealed, so it came in later.
      const isUnsigned = this.last !== undefined && !this.isSigned(this.last);
      if (!isUnsigned) this.firstBroken = { position, eventId: id, reason: 'inserted' };
    }
    if (this.diverged !== undefined) this.firstBroken = breakOf(this.diverged, await this.elsewhere(this.diverged, reader, isOwn));
    this.firstBroken ??= await this.firstUnsigned();
    this.firstBroken ??= this.outsideBreak;
    if (outside !== undefined && outside.events > link.events)
      this.firstBroken ??= { position: outside.position, eventId: null, reason: 'removed' };
  }

  private async advance(): Promise<void> {
    this.last = this.next;
    const { value } = await this.rest.next();
    this.next = value ?? undefined;
    this.found = [];
    this.foundFrom = this.next === undefined ? this.link.events : Math.max(this.link.events, this.next.events - this.next.count);
  }

  private compareOutside(outside: DigestDocument): ChainBreak | null {
    const isSameLog = outside.log === this.stored.logId;
    if (isSameLog ? isSame(this.link, outside) : this.link.digest === outside.digest) return null;
    return { position: outside.position, eventId: null, reason: 'outside-digest' };
  }

  /**
   * Only the newest signature counts for the whole chain: what it covers was recomputed. When that one is wrong, the first wrong one says
   * from where on somebody made seals anew.
   */
  private async firstUnsigned(): Promise<ChainBreak | null> {
    if (this.last === undefined || this.isSigned(this.last)) return null;
    for await (const seal of this.stored.all(this.chain)) {
      if (this.isSigned(seal)) continue;
      const { ids, positions } = await this.stored.eventsUnder(seal);
      return { position: positions[0] ?? seal.position, eventId: ids[0] ?? null, reason: 'seal-signature' };
    }
    return null;
  }

  private isSigned(seal: StoredSeal): boolean {
    return this.signer.isSigned(sealText(this.stored.logId, seal), seal.signature);
  }

  /** Looks through the rest of the log, which is only worth while when the chain broke. */
  private async elsewhere({ sealed, found }: Divergence, reader: LogReader, isOwn: (stream: string) => boolean) {
    const isFoundSealed = found !== undefined && (await this.stored.isSealed(this.chain, found.id));
    if (sealed === undefined || found === undefined || found.id === sealed.id) return { isSealedFound: false, isFoundSealed };
    let isSealedFound = this.found.some(({ id }) => id === sealed.id);
    for (let page = await reader.ahead(); page.length > 0 && !isSealedFound; page = await reader.ahead()) {
      isSealedFound = page.some(({ id, stream }) => id === sealed.id && isOwn(stream));
      reader.take(page.length);
    }
    return { isSealedFound, isFoundSealed };
  }
}

const isSame = (a: ChainLink, b: Pick<ChainLink, 'digest' | 'places' | 'position'>): boolean =>
  a.digest === b.digest && a.places === b.places && a.position === b.position;
