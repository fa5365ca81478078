import { isMailAddress } from '../foundation/mail-address.js';
import type { EmailTheme } from '../themes/theme-instance.js';

interface NamedAddress {
  readonly name: string;
  readonly address: string;
}

export interface Sender {
  readonly from: NamedAddress;
  /** Null: replies go to `from`. */
  readonly replyTo: string | null;
  /** Always the service's own address, which the mail server accepts. */
  readonly envelope: string;
}

/**
 * The sender of a theme's mails. A theme's address is `From` only at a domain of the tenant;
 * otherwise a tenant could send mail as any address.
 * @param ours the service's own address. @param domains of the tenant, in lower case.
 */
export function senderOf(
  { fromName, fromAddress }: EmailTheme['configuration'],
  ours: string,
  domains: readonly string[],
): Sender {
  // Older rules allowed an address as a name.
  const name = /[@<>]/.test(fromName) ? '' : fromName;
  if (fromAddress === undefined || !isMailAddress(fromAddress))
    return { from: { name, address: ours }, replyTo: null, envelope: ours };
  const domain = fromAddress.slice(fromAddress.lastIndexOf('@') + 1).toLowerCase();
  return domains.includes(domain)
    ? { from: { name, address: fromAddress }, replyTo: null, envelope: ours }
    : { from: { name, address: ours }, replyTo: fromAddress, envelope: ours };
}

/** The host of the service's public address. */
export const hostOf = (publicUrl: string): string =>
  URL.canParse(publicUrl) ? new URL(publicUrl).hostname : 'localhost';

/** The sender without MAIL_FROM. */
export const defaultFrom = (publicUrl: string): string => `no-reply@${hostOf(publicUrl)}`;
