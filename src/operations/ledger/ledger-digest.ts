import { ChainNames } from '../../chain/chain-names.js';
import { ChainSealing } from '../../chain/chain-sealing.js';
import { sealsIn, sealText } from '../../chain/chain-seals.js';
import { digestText, type DigestDocument } from '../../chain/digest-document.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { NotDone, type Outcome } from '../outcome.js';

export interface DigestOptions {
  readonly scope: Scope;
  readonly sign: boolean;
  readonly signal?: AbortSignal;
  /** How many events of the log are sealed. */
  readonly onProgress?: (events: number) => void;
}

/**
 * Seals the log up to its head and returns the digest of the chain of this tenant and mode. The
 * same log gives the same document, byte for byte. @throws {EventLogUnavailable}
 */
export async function ledgerDigest(
  core: Pick<Core, 'pool' | 'log' | 'names' | 'chainSigner'>,
  options: DigestOptions,
): Promise<Outcome<DigestDocument>> {
  const { pool, log, names, chainSigner: signer } = core;
  const { scope, sign, signal, onProgress } = options;
  const chains = new ChainNames(names);
  const sealing = new ChainSealing({ seals: sealsIn(pool), log, chains, signer });
  await sealing.sealToHead({ ...(signal && { signal }), ...(onProgress && { onProgress }) });
  const seals = sealsIn(pool)(await log.id());
  const [seal] = await seals.newest([chains.of(scope)]);
  if (seal === undefined) return new NotDone({ code: 'CHAIN_EMPTY', scope });
  if (!signer.isSigned(sealText(seals.logId, seal), seal.signature))
    return new NotDone({ code: 'SEAL_NOT_SIGNED_HERE' });
  const { position, events, digest, places } = seal;
  const { tenant, mode } = scope;
  const document = { tenant, mode, log: seals.logId, position, events, digest, places };
  return sign
    ? { ...document, signature: signer.sign(digestText(document)), publicKey: signer.publicKey }
    : document;
}
