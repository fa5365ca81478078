import { timingSafeEqual } from 'node:crypto';
import { isLedgerMode, type LedgerMode } from '../domain/scope.js';
import type { KeyedNames } from '../privacy/keyed-names.js';

/** A recipient, by ids of the ledger. */
export interface MailRecipient {
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly account: string;
  readonly person: string;
}

const TOKEN_CHARACTERS_MAX = 600;

/**
 * One-click unsubscription links. They hold ids of the ledger, signed with the service's key, and
 * never expire, because a mail may be read years later.
 */
export class Unsubscribing {
  constructor(
    private readonly names: Pick<KeyedNames, 'digest'>,
    private readonly publicUrl: () => string,
  ) {}

  linkOf({ tenant, mode, account, person }: MailRecipient): string {
    const ids = Buffer.from(JSON.stringify([tenant, mode, account, person])).toString('base64url');
    return `${this.publicUrl().replace(/\/+$/, '')}/mail/unsubscribe/${encodeURIComponent(tenant)}/${ids}.${this.signatureOf(ids)}`;
  }

  /** Undefined: the signature is invalid. */
  recipientOf(token: string): MailRecipient | undefined {
    const [ids = '', signature = '', ...more] = token.split('.');
    if (token.length > TOKEN_CHARACTERS_MAX || more.length > 0) return undefined;
    const expected = Buffer.from(this.signatureOf(ids));
    const given = Buffer.from(signature);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const [tenant, mode, account, person] = JSON.parse(
      Buffer.from(ids, 'base64url').toString(),
    ) as string[];
    if (!tenant || !isLedgerMode(mode) || !account || !person) return undefined;
    return { tenant, mode, account, person };
  }

  private signatureOf(ids: string): string {
    return this.names.digest('mail unsubscribe', ids).slice(0, 43);
  }
}
