import { createHash } from 'node:crypto';
import { ExportedChain } from '../../chain/exported-chain.js';
import type { Core } from '../../stores/core.js';
import { modeOf, scopeOfMode, type LedgerMode, type Scope } from '../../domain/scope.js';
import { isThemeStream } from '../../privacy/keyed-names.js';
import type { Decoded } from '../../event-log/codec.js';
import type { RecordedEvent } from '../../event-log/event-log.js';
import { effectiveTimeOf, shownActor } from '../../event-log/envelope.js';
import { logPages } from '../../event-log/event-pages.js';
import { CURRENT_VERSIONS } from '../../event-log/event-schemas.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { sealedToHead, type SealedLog } from './ledger-digest.js';
import { select, type SelectionOptions } from './ledger-selection.js';

/** The tenant's secrets are not part of its ledger, not even encrypted. */
const SECRETS: ReadonlySet<string> = new Set([
  'ApiKeyIssued',
  'SigningSecretIssued',
  'WebhookSecretIssued',
  'PaymentProviderConnected',
]);

export type Exported = Awaited<ReturnType<typeof exportLedger>>;

interface ExportOptions extends Pick<SelectionOptions, 'from' | 'to'> {
  /** Adds the links and the seals. */
  readonly chain?: ExportedChain | undefined;
  /** Between pages of the log, also those that have nothing of the tenant; may throw to stop. */
  readonly onPage?: () => Promise<void>;
}

/**
 * `ledger export`: the events of a tenant and mode, and those of the tenant itself, in the order of
 * the log, a JSON document a line. Personal values are decrypted; those of forgotten people are
 * null. @throws {UnreadableEvent}
 */
export async function exportLedger(
  { log, codec, names, tenants }: Pick<Core, 'log' | 'codec' | 'names' | 'tenants'>,
  scope: Scope,
  options: ExportOptions,
  write: (lines: string) => Promise<void>,
) {
  const { onPage, chain, ...asked } = options;
  const selection = await select(log, asked, await tenants.now(scope));
  const { from = -Infinity, until = Infinity } = selection;
  const head = await log.head();
  const ofTenant = names.tenantStream(scope.tenant);
  const partOf = (mode: LedgerMode): string => `-${mode}.${scope.tenant}.`;
  const [own, kept] = [partOf(scope.mode), partOf(modeOf(scope.mode))];
  const isWanted = (event: RecordedEvent): boolean => {
    const { stream, type } = event;
    const isOf =
      stream === ofTenant || stream.includes(own) || (stream.includes(kept) && isKept(event));
    const at = effectiveTimeOf(event);
    return isOf && !SECRETS.has(type) && at >= from && at <= until;
  };
  const hash = createHash('sha256');
  const written = async (lines: string): Promise<void> => {
    if (lines === '') return;
    hash.update(lines);
    await write(lines);
  };
  let events = 0;
  for await (const page of logPages(log, { upTo: head, limit: PAGE })) {
    const shown = (await codec.decodeAll(page.filter(isWanted))).map(exportedEvent);
    events += shown.length;
    const byId = new Map(shown.map((event) => [event.eventId, event]));
    const lines =
      (await chain?.lines(page, byId)) ?? shown.map((one) => `${JSON.stringify(one)}\n`);
    await written(lines.join(''));
    if (log.compare(page.at(-1)?.position, head) >= 0) break;
    await onPage?.();
  }
  await written(chain?.end() ?? '');
  // The digest is SHA-256 of all lines, each with its line feed.
  return { events, digest: hash.digest('hex') };
}

/** The chain of a scope, sealed up to the head of the log, for `ledger export --chain`. */
export async function chainToExport(
  core: SealedLog,
  scope: Scope,
  signal: AbortSignal,
): Promise<ExportedChain> {
  const { chains, seals } = await sealedToHead(core, { signal });
  return ExportedChain.begin({
    isMember: chains.membership(scope),
    seals: seals.all(chains.of(scope)),
    signer: core.chainSigner,
    scope: scopeOfMode(scope),
    logId: seals.logId,
  });
}

/** Of test mode: not removed with its data. */
const isKept = ({ stream, type }: RecordedEvent): boolean =>
  type === 'OperationRecorded' || isThemeStream(stream);

const PAGE = 500;

/**
 * An exported event: upcast to the current schema version, personal values as `{subject, value}`.
 */
function exportedEvent({ event, envelope, recorded }: Decoded) {
  const { type, at, ...data } = event;
  const { tenant, mode, correlationId, causationId, commandId, actor } = envelope;
  return {
    eventId: recorded.id,
    stream: recorded.stream,
    revision: Number(recorded.revision),
    position: firstPosition(recorded),
    recordedAt: new Date(recorded.recordedAt).toISOString(),
    effectiveAt: new Date(at).toISOString(),
    type,
    version: CURRENT_VERSIONS[type],
    tenant,
    mode: mode && modeOf(mode),
    correlationId,
    causationId,
    commandId,
    actor: shownActor(actor),
    data,
  };
}
