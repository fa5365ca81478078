import { createPublicKey, hash, verify, type KeyObject } from 'node:crypto';
import * as z from 'zod';
import { MODES, type ScopeOfMode } from '../domain/scope.js';
import type { RecordedEvent } from '../event-log/event-log.js';
import type { ChainBreak, BreakReason } from './chain-break.js';
import { CHAIN_START, nextLink, type ChainLink } from './chain-link.js';
import { sealText, type ChainSeal } from './chain-seals.js';
import type { ChainSigner } from './chain-signer.js';

/**
 * The lines of `ledger export --chain`, which are verified without the log and the master key:
 *
 * - an event has `chain` with its stored bytes and the link after it;
 * - `link` is the link before the next event, where events of the chain are not exported;
 * - `seal` is a seal of the chain up to there;
 * - `end` is signed, and covers every byte before it.
 *
 * Each line ends with `content`, the SHA-256 of the one before and of the line up to there.
 */

const SUFFIX = /^(.*),"content":"([0-9a-f]{64})"\}\}$/s;

const contentOf = (before: string, line: string): string => hash('sha256', before + line, 'hex');

const DIGESTS = { digest: z.string(), places: z.string() };

const END = z.object({
  tenant: z.string(),
  mode: z.enum(MODES),
  log: z.string(),
  events: z.int(),
  /** The content of the line before. */
  before: z.string(),
  signature: z.string(),
  ...DIGESTS,
});
type ExportEnd = z.output<typeof END>;

const endText = ({
  log,
  tenant,
  mode,
  events,
  digest,
  places,
  before,
}: Omit<ExportEnd, 'signature'>): string =>
  ['referral-ledger export 1', log, tenant, mode, events, digest, places, before, ''].join('\n');

export interface ChainOfExport {
  readonly isMember: (stream: string) => boolean;
  readonly seals: AsyncIterator<ChainSeal>;
  readonly signer: ChainSigner;
  readonly scope: ScopeOfMode;
  readonly logId: string;
}

export class ExportedChain {
  private link: ChainLink = CHAIN_START;
  private content = '';
  private seal: ChainSeal | undefined;
  /** An event of the chain was left out since the last line. */
  private hasGap = false;
  private hasBegun = false;

  private constructor(private readonly chain: ChainOfExport) {}

  static async begin(chain: ChainOfExport): Promise<ExportedChain> {
    const exported = new ExportedChain(chain);
    await exported.nextSeal();
    return exported;
  }

  /** @param shown the exported events of the page, by id. */
  async lines(
    page: readonly RecordedEvent[],
    shown: ReadonlyMap<string, object>,
  ): Promise<readonly string[]> {
    const lines: string[] = [];
    for (const event of page) {
      if (!this.chain.isMember(event.stream)) continue;
      const exported = shown.get(event.id);
      if (exported !== undefined && this.hasGap) lines.push(this.linkLine());
      this.link = nextLink(this.link, event);
      if (exported === undefined) this.hasGap = true;
      else lines.push(this.eventLine(event, exported));
      if (this.seal?.events === this.link.events) lines.push(...(await this.sealLines(this.seal)));
    }
    return lines;
  }

  end(): string {
    const { scope, logId, signer } = this.chain;
    const { events, digest, places } = this.link;
    const link = this.hasGap || !this.hasBegun ? this.linkLine() : '';
    const end = { ...scope, log: logId, events, digest, places, before: this.content };
    const { publicKey } = signer;
    const signature = signer.sign(endText(end));
    return `${link}${this.line({ end: { ...end, publicKey, signature } })}`;
  }

  private eventLine({ data, metadata }: RecordedEvent, exported: object): string {
    this.hasBegun = true;
    const { digest, places } = this.link;
    return this.line({ ...exported, chain: { stored: { data, metadata }, digest, places } });
  }

  private linkLine(): string {
    this.hasGap = false;
    this.hasBegun = true;
    const { events, position, digest, places } = this.link;
    return this.line({ link: { events, position, digest, places } });
  }

  private async sealLines({ chain, ...seal }: ChainSeal): Promise<readonly string[]> {
    await this.nextSeal();
    if (!this.hasBegun) return [];
    const link = this.hasGap ? [this.linkLine()] : [];
    const { events, position, digest, places, signature } = seal;
    return [...link, this.line({ seal: { chain, events, position, digest, places, signature } })];
  }

  private async nextSeal(): Promise<void> {
    const next = await this.chain.seals.next();
    this.seal = next.done === true ? undefined : next.value;
  }

  private line(value: object): string {
    const text = JSON.stringify(value).slice(0, -2);
    this.content = contentOf(this.content, text);
    return `${text},"content":"${this.content}"}}\n`;
  }
}

const LINE = z.union([
  z.object({
    eventId: z.string(),
    stream: z.string(),
    revision: z.int(),
    position: z.string(),
    recordedAt: z.string(),
    type: z.string(),
    chain: z.object({ stored: z.object({ data: z.string(), metadata: z.string() }), ...DIGESTS }),
  }),
  z.object({
    link: z.object({ events: z.int(), position: z.string().nullable(), ...DIGESTS }),
  }),
  z.object({
    seal: z.object({
      chain: z.string(),
      events: z.int(),
      position: z.string(),
      signature: z.string(),
      ...DIGESTS,
    }),
  }),
  z.object({ end: END }),
]);
type Line = z.output<typeof LINE>;

/** PEM, DER in base64, or a signed digest with its `publicKey`; undefined: no Ed25519 key. */
export function publicKeyIn(text: string): KeyObject | undefined {
  try {
    const given = text.trim();
    const base64 = given.startsWith('{')
      ? (JSON.parse(given) as { readonly publicKey?: string }).publicKey
      : given;
    const key = given.startsWith('-----')
      ? createPublicKey(given)
      : createPublicKey({ key: Buffer.from(base64 ?? '', 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

class ExportCheck {
  link: ChainLink = CHAIN_START;
  events = 0;
  seals = 0;
  end: ExportEnd | undefined;
  private content = '';
  /** Seals are of the log that the end names. */
  private readonly unchecked: ChainSeal[] = [];

  constructor(private readonly key: KeyObject) {}

  /** Null: the line continues the export. */
  add(text: string): ChainBreak | null {
    const [, base = '', content = ''] = SUFFIX.exec(text) ?? [];
    const line = LINE.safeParse(jsonOf(text)).data;
    if (line === undefined) return this.broken('changed');
    const isIntact = content === contentOf(this.content, base);
    const before = this.content;
    this.content = content;
    if (this.end !== undefined) return this.broken('inserted');
    if ('stream' in line) return this.addEvent(line, isIntact);
    if (!isIntact) return this.broken('changed');
    if ('link' in line) this.link = line.link;
    else if ('seal' in line) return this.addSeal(line.seal);
    else return this.addEnd(line.end, before);
    return null;
  }

  /** At the end of the file. */
  finish(): ChainBreak | null {
    if (this.end === undefined) return this.broken('removed');
    const { log } = this.end;
    const forged = this.unchecked.find(
      (seal) => !this.isSigned(sealText(log, seal), seal.signature),
    );
    return forged === undefined
      ? null
      : { position: forged.position, eventId: null, reason: 'seal-signature' };
  }

  private addEvent(line: Extract<Line, { stream: unknown }>, isIntact: boolean): ChainBreak | null {
    const { eventId, stream, revision, position, recordedAt, type, chain } = line;
    const { data, metadata } = chain.stored;
    const stored = {
      id: eventId,
      stream,
      revision: BigInt(revision),
      position,
      type,
      data,
      metadata,
    };
    this.link = nextLink(this.link, { ...stored, recordedAt: Date.parse(recordedAt) });
    this.events += 1;
    const { digest, places } = this.link;
    return isIntact && digest === chain.digest && places === chain.places
      ? null
      : { position, eventId, reason: 'changed' };
  }

  private addSeal(seal: ChainSeal): ChainBreak | null {
    this.seals += 1;
    this.unchecked.push(seal);
    const { events, digest, places } = this.link;
    const isSame = seal.digest === digest && seal.places === places && seal.events === events;
    return isSame ? null : { position: seal.position, eventId: null, reason: 'changed' };
  }

  private addEnd(end: ExportEnd, before: string): ChainBreak | null {
    this.end = end;
    const { events, digest, places } = this.link;
    const isSame = end.digest === digest && end.places === places && end.events === events;
    if (!isSame || end.before !== before) return this.broken('changed');
    return this.isSigned(endText(end), end.signature) ? null : this.broken('seal-signature');
  }

  private isSigned(text: string, signature: string): boolean {
    return verify(null, Buffer.from(text), this.key, Buffer.from(signature, 'base64'));
  }

  private broken(reason: BreakReason): ChainBreak {
    return { position: this.link.position, eventId: null, reason };
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Stops at the first break. */
export function verifyExport(lines: Iterable<string>, key: KeyObject) {
  const check = new ExportCheck(key);
  let firstBroken: ChainBreak | null = null;
  for (const line of lines) {
    if (line === '') continue;
    firstBroken = check.add(line);
    if (firstBroken !== null) break;
  }
  firstBroken ??= check.finish();
  const { end, link, events, seals } = check;
  return {
    ok: firstBroken === null,
    /** Null: the end of the export is missing. */
    tenant: end?.tenant ?? null,
    mode: end?.mode ?? null,
    log: end?.log ?? null,
    /** Number of recomputed events. */
    events,
    position: link.position,
    digest: link.digest,
    seals,
    firstBroken,
  };
}
