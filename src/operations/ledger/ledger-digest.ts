import { ChainNames } from '../../chain/chain-names.js';
import { ChainSealing } from '../../chain/chain-sealing.js';
import { ChainSeals, sealText } from '../../chain/chain-seals.js';
import { digestText, type DigestDocument } from '../../chain/digest-document.js';
import type { Core } from '../../core/core.js';
import type { Scope } from '../../domain/scope.js';

export interface DigestOptions {
  readonly scope: Scope;
  readonly sign: boolean;
  readonly signal?: AbortSignal;
  /** How many events of the log are sealed. */
  readonly onProgress?: (events: number) => void;
}

/**
 * The newest seal of the chain was not signed by this installation: a digest of it would vouch for
 * what nobody knows.
 */
export class BrokenSeal extends Error {
  override readonly name = 'BrokenSeal';
  constructor() {
    super(
      'the newest seal of this chain was not signed by this installation: `ledger verify` says where the chain breaks',
    );
  }
}

/**
 * Seals the log up to its head and says what the chain of this tenant and mode holds. The same log
 * gives the same document, to the byte.
 * @returns null for a chain without events.
 * @throws {BrokenSeal} {EventLogUnavailable}
 */
export async function ledgerDigest(
  core: Pick<Core, 'pool' | 'log' | 'names' | 'chainSigner'>,
  options: DigestOptions,
): Promise<DigestDocument | null> {
  const { pool, log, names, chainSigner: signer } = core;
  const { scope, sign, signal, onProgress } = options;
  const chains = new ChainNames(names);
  await new ChainSealing({ pool, log, chains, signer }).sealToHead({
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
  });
  const seals = new ChainSeals(pool, await log.id());
  const [seal] = await seals.newest([chains.of(scope)]);
  if (seal === undefined) return null;
  if (!signer.isSigned(sealText(seals.logId, seal), seal.signature)) throw new BrokenSeal();
  const { position, events, digest, places } = seal;
  const document = {
    tenant: scope.tenant,
    mode: scope.mode,
    log: seals.logId,
    position,
    events,
    digest,
    places,
  };
  return sign
    ? { ...document, signature: signer.sign(digestText(document)), publicKey: signer.publicKey }
    : document;
}
