import * as z from 'zod';
import { MODES, type Scope } from '../domain/scope.js';
import type { Position } from '../event-log/event-log.js';
import type { ChainSigner } from './chain-signer.js';

const HEX_DIGEST = z.string().regex(/^[0-9a-f]{64}$/);

const DIGEST_DOCUMENT = z.object({
  tenant: z.string().min(1).max(64),
  mode: z.enum(MODES),
  log: z.string().min(1).max(100),
  position: z.string().min(1).max(100),
  events: z.int().min(1),
  digest: HEX_DIGEST,
  places: HEX_DIGEST,
  signature: z.string().max(200).optional(),
  publicKey: z.string().max(200).optional(),
});

/** What a chain held at some time, to be kept elsewhere. */
export interface DigestDocument extends Scope {
  /** The identity of the log that it was taken of. */
  readonly log: string;
  /** Of the newest event of the chain. */
  readonly position: Position;
  /** How many events the chain had. */
  readonly events: number;
  /** Both in hex, as src/chain/chain-link.ts makes them. */
  readonly digest: string;
  readonly places: string;
  /** Ed25519 over `digestText`, in base64. */
  readonly signature?: string | undefined;
  /** What the signature is checked with: DER (SubjectPublicKeyInfo) in base64. */
  readonly publicKey?: string | undefined;
}

/**
 * What the signature of a digest document is made over. The first line keeps it apart from
 * everything else that the key may sign.
 */
export const digestText = ({
  log,
  tenant,
  mode,
  events,
  position,
  digest,
  places,
}: DigestDocument): string =>
  ['referral-ledger chain digest 1', log, tenant, mode, events, position, digest, places, ''].join(
    '\n',
  );

/** Undefined: this is no digest document. */
export function asDigestDocument(value: unknown): DigestDocument | undefined {
  const { success, data } = DIGEST_DOCUMENT.safeParse(value);
  return success ? data : undefined;
}

/**
 * False: it says that it is signed, but not by this installation, or something in it was changed.
 */
export function isAuthentic(document: DigestDocument, signer: ChainSigner): boolean {
  const { signature, publicKey } = document;
  if (signature === undefined && publicKey === undefined) return true;
  return (
    publicKey === signer.publicKey &&
    signature !== undefined &&
    signer.isSigned(digestText(document), signature)
  );
}
