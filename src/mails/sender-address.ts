import { isMailAddress } from '../foundation/mail-address.js';
import type { EmailTheme } from '../themes/theme-instance.js';

/** Of a `From`. */
interface NamedAddress {
  readonly name: string;
  readonly address: string;
}

/** Who a mail names as its sender. */
export interface Sender {
  readonly from: NamedAddress;
  /** Null: answers go to `from`. */
  readonly replyTo: string | null;
  /** Of the envelope: always the service's own, which the mail server may send for. */
  readonly envelope: string;
}

/**
 * The sender of the mails of a theme. A theme's address is `From` only at a domain of the tenant,
 * or a key of the tenant could send mail as any address.
 * @param ours the service's own address.
 * @param domains of the tenant, in lower case.
 */
export function senderOf(
  { fromName, fromAddress }: EmailTheme['configuration'],
  ours: string,
  domains: readonly string[],
): Sender {
  // A name with an address was stored under older rules.
  const name = /[@<>]/.test(fromName) ? '' : fromName;
  if (fromAddress === undefined || !isMailAddress(fromAddress))
    return { from: { name, address: ours }, replyTo: null, envelope: ours };
  const domain = fromAddress.slice(fromAddress.lastIndexOf('@') + 1).toLowerCase();
  return domains.includes(domain)
    ? { from: { name, address: fromAddress }, replyTo: null, envelope: ours }
    : { from: { name, address: ours }, replyTo: fromAddress, envelope: ours };
}

/** The host of the service's public address, which mails name as theirs. */
export const hostOf = (publicUrl: string): string =>
  URL.canParse(publicUrl) ? new URL(publicUrl).hostname : 'localhost';

/** The sender of mails without MAIL_FROM. */
export const defaultFrom = (publicUrl: string): string => `no-reply@${hostOf(publicUrl)}`;
