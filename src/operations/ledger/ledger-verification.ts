import type { BreakReason, ChainBreak } from '../../chain/chain-break.js';
import { CHAIN_START, nextLink, type ChainLink } from '../../chain/chain-link.js';
import { sealText, type SealStore, type StoredSeal } from '../../chain/chain-seals.js';
import type { ChainSigner } from '../../chain/chain-signer.js';
import { isAuthentic, type DigestDocument } from '../../chain/digest-document.js';
import {
  isLogSealed,
  LOG_START,
  nextLogLink,
  type LogLink,
  type LogSeal,
  type SealingStop,
} from '../../chain/log-seal.js';
import { findSealedTail } from '../../chain/sealed-tail.js';
import { scopeOfMode, type Scope } from '../../domain/scope.js';
import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { LogReader, Stopped, type Patience } from '../log/log-reader.js';
import { findBreak, type SearchedChain } from './chain-break-search.js';
import { sealedToHead, type SealedLog } from './ledger-digest.js';

export interface VerificationOptions extends Patience {
  readonly scope: Scope;
  /** An earlier output of `ledger digest` for the same tenant and mode. */
  readonly outside?: DigestDocument | undefined;
  /** `events` of the whole log; `total` is unknown while sealing. */
  readonly onProgress?: (phase: string, events: number, total?: number) => void;
  /** Waits between pages of the log as long as others come first. */
  readonly pauseForRequests?: () => Promise<void>;
}

/** The result of a verification; the JSON of `ledger verify`. */
export type Verification = Awaited<ReturnType<typeof verifyLedger>>;

/**
 * Seals what is not sealed yet, then recomputes the chain of one tenant and mode from the first
 * event of the log and compares it with every seal, and with a digest from outside. Stops at the
 * first break. Memory: two pages of the log. @throws {EventLogUnavailable} {Stopped}
 */
export async function verifyLedger(core: SealedLog, options: VerificationOptions) {
  const { log, chainSigner: signer } = core;
  const { scope, outside, signal, onProgress } = options;
  const { chains, seals, checkpoint, stopped } = await sealedToHead(core, {
    signal,
    onProgress: (events) => onProgress?.('sealing', events),
  });
  if (signal.aborted) throw new Stopped();
  const logSeal = await authenticLogSeal(seals, signer);
  const isFurther = logSeal && log.compare(logSeal.position ?? undefined, checkpoint.position) > 0;
  const upTo = (isFurther ? logSeal.position : checkpoint.position) ?? null;
  const whole = new WholeLogCheck(logSeal);
  // A digest whose signature is wrong proves nothing about the log.
  const isForged = outside !== undefined && !isAuthentic(outside, signer);
  const isOwn = chains.membership(scope);
  const searched = { log, seals, chain: chains.of(scope), isOwn, upTo, patience: options };
  const check = new ChainCheck(searched, signer, isForged ? undefined : outside);
  await check.advance();
  const reader = new LogReader(log, options, upTo);
  for await (const page of reader.pages()) {
    for (const event of page) {
      whole.add(event);
      if (isOwn(event.stream) && check.add(event)) await check.compare();
      if (check.firstBroken) break;
    }
    if (signal.aborted) throw new Stopped();
    onProgress?.('verifying', reader.count + page.length, checkpoint.events);
    await options.pauseForRequests?.();
    if (check.firstBroken) break;
  }
  if (!check.firstBroken) await check.end();
  const { link, seals: compared, isOnlyUnsealed } = check;
  const { events, position, digest } = link;
  const ofChain: ChainBreak | null =
    isForged && !check.firstBroken
      ? { position: outside.position, eventId: null, reason: 'digest-signature' }
      : check.firstBroken;
  // Removing the newest seals leaves events without a seal: the check of the whole log is more
  // specific then.
  const isSpecific = ofChain === null || isOnlyUnsealed;
  const ofLog = isSpecific || stopped === 'lost' ? await whole.end({ log, seals, stopped }) : null;
  const isOfLog = ofLog !== null && (isSpecific || isAtOrBefore(log, ofLog, ofChain));
  const firstBroken = isOfLog ? ofLog : ofChain;
  return {
    ok: firstBroken === null,
    ...scopeOfMode(scope),
    log: seals.logId,
    /** Number of recomputed events of the chain. */
    events,
    /** The position of the last recomputed event; null: the chain is empty. */
    position,
    /** The recomputed digest, in hex: equal to that of `ledger digest` when the chain is intact. */
    digest,
    seals: compared,
    firstBroken,
  };
}

/** The seal of the whole log; undefined: this installation signed none. */
export async function authenticLogSeal(
  seals: SealStore,
  signer: ChainSigner,
): Promise<LogSeal | undefined> {
  const seal = await seals.logSeal();
  return seal && isLogSealed(signer, seals.logId, seal) ? seal : undefined;
}

const isAtOrBefore = (log: EventLog, a: ChainBreak, b: ChainBreak): boolean =>
  log.compare(a.position ?? undefined, b.position ?? undefined) <= 0;

/** Recomputes the chain of the whole log and compares it with the seal of the log. */
class WholeLogCheck {
  private link: LogLink = LOG_START;
  private isMet: boolean;

  /** @param seal undefined: this installation signed none. */
  constructor(private readonly seal: LogSeal | undefined) {
    this.isMet = seal !== undefined && seal.events === 0;
  }

  add(event: RecordedEvent): void {
    this.link = nextLogLink(this.link, event);
    if (this.seal?.events === this.link.events) this.isMet = this.seal.digest === this.link.digest;
  }

  /** Called at the end of the log. Null: the log is as it was sealed. */
  async end({
    log,
    seals,
    stopped,
  }: {
    readonly log: EventLog;
    readonly seals: SealStore;
    readonly stopped: SealingStop | null;
  }): Promise<ChainBreak | null> {
    const contradicted = (await log.contradiction?.()) ?? null;
    if (this.isMet && stopped === null && contradicted === null) return null;
    const { firstMissing } = await findSealedTail(log, seals, this.seal);
    if (firstMissing !== undefined)
      return { ...firstMissing, reason: stopped === 'lost' ? 'lost' : 'removed' };
    const position = contradicted ?? this.seal?.position ?? this.link.position;
    if (stopped !== null) return { position, eventId: null, reason: stopped };
    return { position, eventId: null, reason: 'changed' };
  }
}

/** Recomputes one chain and compares it with its seals. */
class ChainCheck {
  link: ChainLink = CHAIN_START;
  seals = 0;
  firstBroken: ChainBreak | null = null;
  private readonly stored: AsyncGenerator<StoredSeal, void, undefined>;
  private next: StoredSeal | undefined;
  /** The original position of the last event. */
  private place: Position | null = null;
  /** The last seal that matched. */
  private last: StoredSeal | undefined;
  /** The first event after all seals. */
  private unsealed: RecordedEvent | undefined;
  private outsideBreak: ChainBreak | null = null;
  /** The only break found is events after the last seal. */
  isOnlyUnsealed = false;

  constructor(
    private readonly searched: SearchedChain,
    private readonly signer: ChainSigner,
    private readonly outside: DigestDocument | undefined,
  ) {
    this.stored = searched.seals.all(searched.chain);
  }

  /** True when a seal or the outside digest has to be compared after this event. */
  add(event: RecordedEvent): boolean {
    this.link = nextLink(this.link, event);
    this.place = firstPosition(event);
    if (this.next === undefined) this.unsealed ??= event;
    const { events } = this.link;
    return events === this.next?.events || events === this.outside?.events;
  }

  async compare(): Promise<void> {
    const { link, next, outside } = this;
    if (outside?.events === link.events) this.outsideBreak = this.compareOutside(outside);
    if (next?.events !== link.events) return;
    this.seals += 1;
    if (!isSame(link, next)) {
      this.firstBroken = await this.find(next, 'changed');
      return;
    }
    // The seal matches the log, so no seal locates the break that the outside digest shows more
    // precisely.
    this.firstBroken = this.outsideBreak;
    await this.advance();
  }

  /** Called at the end of the log. */
  async end(): Promise<void> {
    const { next, unsealed, outside, link } = this;
    if (next !== undefined) this.firstBroken = await this.find(next, 'removed');
    this.firstBroken ??= await this.firstUnsigned();
    this.firstBroken ??= this.outsideBreak;
    // Every event up to the checkpoint was sealed once, so this one was inserted later.
    this.isOnlyUnsealed = this.firstBroken === null && unsealed !== undefined;
    if (unsealed !== undefined)
      this.firstBroken ??= {
        position: unsealed.position,
        eventId: unsealed.id,
        reason: 'inserted',
      };
    if (outside !== undefined && outside.events > link.events)
      this.firstBroken ??= { position: outside.position, eventId: null, reason: 'removed' };
  }

  /** To the next seal; called once before the first event. */
  async advance(): Promise<void> {
    this.last = this.next;
    const { value } = await this.stored.next();
    this.next = value ?? undefined;
  }

  private find(seal: StoredSeal, otherwise: BreakReason): Promise<ChainBreak> {
    return findBreak(this.searched, this.last ?? CHAIN_START, seal, otherwise);
  }

  /**
   * The digest of another log covers places too when that log recorded the last event first, and
   * only contents when it had a copy of it.
   */
  private compareOutside(outside: DigestDocument): ChainBreak | null {
    const { link, place, searched } = this;
    const isSameLog = outside.log === searched.seals.logId;
    const isKept =
      link.digest === outside.digest &&
      (place !== outside.position || link.places === outside.places);
    if (isSameLog ? isSame(link, outside) : isKept) return null;
    return { position: outside.position, eventId: null, reason: 'outside-digest' };
  }

  /**
   * Only the newest signature is checked for an intact chain: it covers everything that was
   * recomputed. When it is wrong, the first wrong signature shows where forged seals begin.
   */
  private async firstUnsigned(): Promise<ChainBreak | null> {
    if (this.last === undefined || this.isSigned(this.last)) return null;
    const { seals, chain } = this.searched;
    for await (const seal of seals.all(chain)) {
      if (this.isSigned(seal)) continue;
      const { ids, positions } = await seals.eventsUnder(seal);
      return {
        position: positions[0] ?? seal.position,
        eventId: ids[0] ?? null,
        reason: 'seal-signature',
      };
    }
    return null;
  }

  private isSigned(seal: StoredSeal): boolean {
    return this.signer.isSigned(sealText(this.searched.seals.logId, seal), seal.signature);
  }
}

const isSame = (a: ChainLink, b: Pick<ChainLink, 'digest' | 'places' | 'position'>): boolean =>
  a.digest === b.digest && a.places === b.places && a.position === b.position;
